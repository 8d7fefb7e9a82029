package postgres

import "time"

// SetTimeout sets how long one attempt at a batch may take. Call it before anything is appended.
func (a *Appender) SetTimeout(d time.Duration) { a.timeout = d }
