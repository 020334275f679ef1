package archive

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// putCache caches the last Put of a log if a Put depends only on the kind and the time of the change. The times of a
// stream are in seconds, so thousands of changes have the same time and can share a Put. A cached Put is never changed.
type putCache struct {
	timeOnly bool // a Put depends only on kind and time; if false, the cache is not used
	last     atomic.Pointer[recentPut]
}

// recentPut is a Put with the time of its change.
type recentPut struct {
	put *Put
	at  time.Time
}

// timeOnly reports whether the Puts of a sink depend only on kind and time.
func (s *Sink) timeOnly() bool {
	if s.o.Layout != Log || len(s.o.Columns) > 0 {
		return false
	}
	usesOthers := func(p template.Placeholder) bool { return p.Name != "@time" }
	return s.o.Partition == nil || !slices.ContainsFunc(s.o.Partition.Placeholders(), usesOthers)
}

// lookup returns the cached Put for c; nil if there is none.
func (r *putCache) lookup(kind Kind, c *record.Change) *Put {
	if !r.timeOnly {
		return nil
	}
	last := r.last.Load()
	if last == nil || last.put.Kind != kind || !last.at.Equal(c.Time) {
		return nil
	}
	return last.put
}

// store caches p, the Put of c.
func (r *putCache) store(p *Put, c *record.Change) {
	if r.timeOnly {
		r.last.Store(&recentPut{p, c.Time})
	}
}
