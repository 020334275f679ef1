package archive

import (
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// recent keeps the last place in a log, where that is made of the time alone: a
// stream tells it to the second, and thousands of changes are of one. They share the
// Put, which is never changed.
type recent struct {
	timely bool // places are made of the time alone
	last   atomic.Pointer[placed]
}

type placed struct {
	put *Put
	at  time.Time
}

// timely tells whether the places of a sink are made of the time alone.
func (s *Sink) timely() bool {
	return s.layout == Log && len(s.columns) == 0 && (s.partition == nil || ofTime(s.partition))
}

func ofTime(t *template.Template) bool {
	for _, p := range t.Placeholders() {
		if p.Name != "@time" {
			return false
		}
	}
	return true
}

// of is the place of c; nil where it is to be made.
func (r *recent) of(kind Kind, c *record.Change) *Put {
	if !r.timely {
		return nil
	}
	if last := r.last.Load(); last != nil && last.put.Kind == kind && last.at.Equal(c.Time) {
		return last.put
	}
	return nil
}

// keep remembers the place of c.
func (r *recent) keep(p *Put, c *record.Change) {
	if r.timely {
		r.last.Store(&placed{p, c.Time})
	}
}
