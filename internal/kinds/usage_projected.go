package kinds

import "time"

// Kept is an instant as the ledger keeps it in rows: in whole microseconds. Whatever is judged by an artifact's as_of or declared_at
// is judged by this one, so that the same follows from the rows and from the content alone.
func Kept(at time.Time) time.Time { return at.Truncate(time.Microsecond) }

// ProjectedUsage is a usage line as a content gives it, without its frames' names.
type ProjectedUsage struct {
	RequestID, CustomerID, ProviderID string
	AsOf                              time.Time
	FramesServed, Tokens              int64
	FrameCost                         int64  // of all frames
	Corrects                          *int64 // nil for a report's own line
}

// Usage reads the usage lines of a projection, of a report or of a correction.
func (p Projection) Usage() []ProjectedUsage {
	rows := p.Of(&usageLines)
	list := make([]ProjectedUsage, 0, len(rows))
	for _, values := range rows {
		var u ProjectedUsage
		for i, c := range usageLines.Columns {
			u.set(c.Name, values[i])
		}
		list = append(list, u)
	}
	return list
}

// set takes one column's value, whose type is the one that usageRows and correctionRows give it.
func (u *ProjectedUsage) set(column string, value any) {
	switch v := value.(type) {
	case string:
		for name, to := range map[string]*string{"request_id": &u.RequestID, "customer_id": &u.CustomerID, "provider_id": &u.ProviderID} {
			if name == column {
				*to = v
			}
		}
	case time.Time:
		u.AsOf = v
	case int64:
		switch column {
		case "frames_served":
			u.FramesServed = v
		case "tokens":
			u.Tokens = v
		case "corrects":
			u.Corrects = &v
		}
	case []int64:
		for _, tokens := range v {
			u.FrameCost += tokens
		}
	}
}
