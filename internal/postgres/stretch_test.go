package postgres

import (
	"testing"

	"ledgerd/metering"
)

func TestWholeEntries(t *testing.T) {
	t.Parallel()
	line := func(seq int64, frames int) metering.Line {
		return metering.Line{Seq: seq, Frames: make([]metering.LineFrame, frames)}
	}
	for name, c := range map[string]struct {
		read      []metering.Line
		maxLines  int
		lines     int
		end, want int64
	}{
		"nothing":                     {nil, 2, 0, 9, 9},
		"all of it":                   {[]metering.Line{line(3, 1), line(5, 1)}, 2, 2, 9, 9},
		"an entry too many":           {[]metering.Line{line(3, 1), line(5, 1), line(6, 1)}, 2, 2, 9, 6},
		"half an entry":               {[]metering.Line{line(3, 1), line(5, 1), line(5, 1)}, 2, 1, 9, 5},
		"one entry, larger":           {[]metering.Line{line(3, 1), line(3, 1), line(3, 1)}, 2, 0, 9, 3},
		"frames too many":             {[]metering.Line{line(3, maxFrames-1), line(5, 1)}, 2, 1, 9, 5},
		"frames of one entry":         {[]metering.Line{line(3, maxFrames)}, 2, 0, 9, 3},
		"as many frames as there may": {[]metering.Line{line(3, maxFrames-2), line(5, 1)}, 2, 2, 9, 9},
	} {
		lines, end := wholeEntries(c.read, c.end, c.maxLines)
		if len(lines) != c.lines || end != c.want {
			t.Errorf("%s: %d lines up to %d; want %d up to %d", name, len(lines), end, c.lines, c.want)
		}
	}
}
