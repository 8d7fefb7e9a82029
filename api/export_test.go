package api

import "time"

// SetProgressTimeout shortens what a test would otherwise have to wait for. Call it before the first request.
func (a *API) SetProgressTimeout(d time.Duration) { a.progress = d }

// SetWideLines makes questions wide that read more than so many lines. Call it before the first request.
func (a *API) SetWideLines(lines int) { a.wideLines = lines }
