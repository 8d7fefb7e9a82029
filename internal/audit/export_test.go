package audit

// WithSecond is the check with another second encoder.
func (c EntryCheck) WithSecond(encode func([]byte) ([]byte, error)) EntryCheck {
	c.second = encode
	return c
}
