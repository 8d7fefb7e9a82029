package postgres

import "time"

// SetTimeout sets how long one attempt at a batch may take. Call it before anything is appended.
func (a *Appender) SetTimeout(d time.Duration) { a.timeout = d }

// SetPatience sets how long a look ahead waits for a connection. Call it before anything is appended.
func (a *Appender) SetPatience(d time.Duration) { a.patience = d }
