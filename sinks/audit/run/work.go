package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// phase is what an audit does. It goes down this list.
type phase string

const (
	readItems phase = "items"   // what should be there is spooled
	readSinks phase = "sinks"   // what is there is spooled
	compare   phase = "compare" // the two are joined: what differs is suspect
	recheck   phase = "recheck" // each suspect is looked at until it stood still
	sumGroups phase = "groups"  // groups are compared with what the items count for
	finished  phase = "finished"
)

// progress is the checkpoint of an audit. A process that goes on does again what came later.
type progress struct {
	Request string // digest of what was asked for
	Header  Header
	Phase   phase
	Parts   map[string]part // of the items, by ID
	Reads   int             // readings of segments of sinks that were begun
	Read    map[string]int  // segments of sinks that were read to their end, with the number of the reading
	Entries []int64         // lengths of the files of entries
	Round   int             // of the rechecks
	File    int             // that is worked off next, in the phase recheck
	Open    []int64         // lengths of the files of suspects of this round
	Next    []int64         // lengths of those of the next round
	Waited  time.Time       // when the last round ended: the consumers must be past it before the next; zero before the first
	Groups  []groupPlace    // groups that the sums of shares are to be compared with again
	Report  int64           // length of the report
	Tally   tally
}

// part is how far a part of the items is read.
type part struct {
	Position pipeline.Position // everything before it is spooled
	Done     bool
}

// work is the folder in which an audit keeps how far it is, and what does not fit into memory. One goroutine uses it.
type work struct {
	progress
	dir  string
	lock *filelock.Lock
}

// openWork opens the folder of an audit, and makes it if it is missing. An audit that was interrupted goes on if it is of
// the same request; resumed reports that.
func openWork(ctx context.Context, dir string, anew progress) (w *work, resumed bool, err error) {
	if err := private.MkdirAll(dir); err != nil {
		return nil, false, err
	}
	lock, err := filelock.Take(ctx, filepath.Join(dir, "lock"), filelock.Exclusive, 0)
	if err != nil {
		return nil, false, fmt.Errorf("another audit writes this report: %w", err)
	}
	w = &work{dir: dir, lock: lock, progress: anew}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	b, err := os.ReadFile(w.path("progress.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return w, false, nil
	}
	var before progress
	if err == nil {
		err = json.Unmarshal(b, &before)
	}
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w: delete the folder, and the audit starts anew", dir, err)
	case before.Request != anew.Request:
		return nil, false, errs.Errorf("%s has an audit that was interrupted, of other sinks, of another source or of another file: delete the folder, or name another --report", redact.Safe(dir))
	}
	w.progress = before
	w.Header.Assumed = cmp.Or(anew.Header.Assumed, before.Header.Assumed)
	return w, true, nil
}

func (w *work) path(name string) string { return filepath.Join(w.dir, name) }

// save stores the progress.
func (w *work) save() error {
	b, err := json.Marshal(&w.progress)
	if err != nil {
		return err
	}
	return private.WriteFile(w.path("progress.json"), w.path("progress.next"), b)
}

// close frees the folder. An audit that has ended leaves none.
func (w *work) close() error {
	var err error
	if w.Phase == finished || w.Phase == readItems && len(w.Parts) == 0 { // nothing is done that could go on
		err = os.RemoveAll(w.dir)
	}
	return errors.Join(err, w.lock.Release())
}
