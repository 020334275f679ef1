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

// phase is a phase of an audit. The phases follow each other in the order of these constants.
type phase string

const (
	readItems     phase = "items"   // the required entries of the items are spooled
	readSinks     phase = "sinks"   // the stored entries of the sinks are spooled
	compare       phase = "compare" // required and stored entries are joined: differing places become suspects
	recheck       phase = "recheck" // each suspect is compared until it stops changing
	recheckGroups phase = "groups"  // groups are compared with the sums of contributions
	finished      phase = "finished"
)

// findsSuspects reports whether the phase belongs to the comparison of all entries, before the recheck.
func (p phase) findsSuspects() bool { return p == readItems || p == readSinks || p == compare }

// workState is the checkpoint of an audit. A process that continues the audit repeats the work after the checkpoint.
type workState struct {
	Request string // digest of the request
	Header  Header
	Phase   phase
	Parts   map[string]part // progress of the parts of the table, by id
	Reads   int             // number of readings of segments that began; the last one has this number
	Read    map[string]int  // segments of sinks that were read to their end, each with the number of its reading
	Entries []int64         // lengths of the files of entries
	Round   int             // number of the present round of rechecks
	File    int             // file to work on next, in the phase recheck
	Open    []int64         // lengths of the files of suspects of this round
	Next    []int64         // lengths of the files of suspects of the next round
	// LastRoundEnd is the end of the last round; zero before the first round. The next round waits until the consumers
	// have passed this time.
	LastRoundEnd time.Time    `json:"Waited"`
	Groups       []groupPlace // groups to compare with the sums of their contributions
	Report       int64        // length of the report
	Tally        tally
}

// part is the progress in one part of the table. A snapshot divides the table into parts, to read them concurrently.
type part struct {
	Position pipeline.Position // all items before it are spooled
	Done     bool
}

// work is the work folder of an audit, with its progress and the data that does not fit into memory. One goroutine uses
// it.
type work struct {
	workState
	dir  string
	lock *filelock.Lock
}

// openWork opens the work folder of an audit, and creates it if it is missing. If the folder has the progress of an
// interrupted audit with the same request, resumed is true, and the audit continues from there. Otherwise it starts
// with initial. The progress of another request is an error.
func openWork(ctx context.Context, dir string, initial workState) (w *work, resumed bool, err error) {
	if err := private.MkdirAll(dir); err != nil {
		return nil, false, err
	}
	lock, err := filelock.Take(ctx, filepath.Join(dir, "lock"), filelock.Exclusive, 0)
	if err != nil {
		return nil, false, fmt.Errorf("another audit writes this report: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()

	w = &work{dir: dir, lock: lock, workState: initial}
	saved, err := w.savedState()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w: delete the folder, and the audit starts anew", dir, err)
	case saved.Request != initial.Request:
		return nil, false, errs.Errorf(
			"%s has an audit that was interrupted, of other sinks, of another source or of another file: delete the folder, or name another --report", redact.Safe(dir))
	}
	w.workState = saved
	w.Header.Assumed = cmp.Or(initial.Header.Assumed, saved.Header.Assumed)
	return w, true, nil
}

// savedState reads the progress that save has stored.
func (w *work) savedState() (saved workState, err error) {
	b, err := os.ReadFile(w.path("progress.json"))
	if err == nil {
		err = json.Unmarshal(b, &saved)
	}
	return saved, err
}

func (w *work) path(name string) string { return filepath.Join(w.dir, name) }

// save stores the progress.
func (w *work) save() error {
	b, err := json.Marshal(&w.workState)
	if err != nil {
		return err
	}
	return private.WriteFile(w.path("progress.json"), w.path("progress.next"), b)
}

// close unlocks the folder. It deletes the folder if no work is left to continue.
func (w *work) close() error {
	isUnstarted := w.Phase == readItems && len(w.Parts) == 0
	var err error
	if w.Phase == finished || isUnstarted {
		err = os.RemoveAll(w.dir)
	}
	return errors.Join(err, w.lock.Release())
}
