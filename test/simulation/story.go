package simulation

import (
	"fmt"
	"strings"
	"time"
)

// story is the readable text of a run, with one line for each event.
type story struct {
	on bool
	b  strings.Builder
}

// String returns the text so far.
func (s *story) String() string { return s.b.String() }

// tell adds a line, if the story is recorded.
func (w *world) tell(who, format string, args ...any) {
	if w.story.on {
		fmt.Fprintf(&w.story.b, "%s %-7s %s\n", clock(w.now), who, fmt.Sprintf(format, args...))
	}
}

// clock formats a time of a world as 1:02:03.004000.
func clock(t time.Duration) string {
	return fmt.Sprintf("%d:%02d:%02d.%06d", int(t.Hours()), int(t.Minutes())%60, int(t.Seconds())%60, t.Microseconds()%1_000_000)
}
