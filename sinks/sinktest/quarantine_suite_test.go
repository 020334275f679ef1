package sinktest_test

import (
	"context"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
)

// Possible faults of dead letters and marks.
const (
	forgetsMarks   flaw = "forgets marks"   // begins without any
	forgetsLetters flaw = "forgets letters" // likewise
	holdsAnyKey    flaw = "holds any key"   // a sink's mark holds no key but the first
)

// memory is letters and marks that outlive a process.
type memory struct {
	flaw flaw

	mu      sync.Mutex
	letters []pipeline.DeadLetter
	known   map[string]bool
	marks   map[string]state.Mark
}

var (
	_ deadletter.Store = (*memory)(nil)
	_ state.Quarantine = (*memory)(nil)
)

func (m *memory) Put(_ context.Context, letters []pipeline.DeadLetter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range letters {
		if id := deadletter.ID(&l); !m.known[id] {
			m.known[id] = true
			l.Raw = slices.Clone(l.Raw)
			m.letters = append(m.letters, l)
		}
	}
	return nil
}

func (m *memory) Read(context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	letters := slices.Clone(m.letters)
	return func(yield func(pipeline.DeadLetter, error) bool) {
		for _, l := range letters {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (m *memory) Remove(_ context.Context, ids []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letters = slices.DeleteFunc(m.letters, func(l pipeline.DeadLetter) bool { return slices.Contains(ids, deadletter.ID(&l)) })
	for _, id := range ids {
		delete(m.known, id)
	}
	return nil
}

func (m *memory) HasMarks(_ context.Context, sink string, keys []item.Key) ([]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := make([]bool, len(keys))
	for i, k := range keys {
		_, held[i] = m.marks[sink+"/"+string(k)]
		if m.flaw == holdsAnyKey && i > 0 {
			held[i] = false
		}
	}
	return held, nil
}

func (m *memory) MarkKeys(_ context.Context, sink string, keys []item.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		mark, ok := m.marks[sink+"/"+string(k)]
		if !ok {
			mark = state.Mark{Sink: sink, Key: k, Since: time.Now()}
		}
		mark.Letters++
		m.marks[sink+"/"+string(k)] = mark
	}
	return nil
}

func (m *memory) Marks(context.Context, string) iter.Seq2[state.Mark, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	marks := slices.Collect(maps.Values(m.marks))
	return func(yield func(state.Mark, error) bool) {
		for _, mark := range marks {
			if !yield(mark, nil) {
				return
			}
		}
	}
}

func (m *memory) Clear(_ context.Context, mark state.Mark) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := mark.Sink + "/" + string(mark.Key)
	if m.marks[id] != mark {
		return false, nil
	}
	delete(m.marks, id)
	return true, nil
}

// TestQuarantine runs the suite on correct letters and marks, and TestQuarantineFlaws on wrong ones.
func TestQuarantine(t *testing.T) {
	f := sound
	if env := os.Getenv(flawEnv); env != "" {
		f = flaw(env)
	}
	kept := make(map[string]*memory)
	sinktest.RunQuarantine(t, 0, func(dir string) (sinktest.Memory, error) {
		m := kept[dir]
		if m == nil {
			m = &memory{flaw: f, known: make(map[string]bool), marks: make(map[string]state.Mark)}
			kept[dir] = m
		}
		switch f {
		case forgetsMarks:
			clear(m.marks)
		case forgetsLetters:
			m.letters = nil
			clear(m.known)
		}
		return sinktest.Memory{Letters: m, Quarantine: m}, nil
	})
}

func TestQuarantineFlaws(t *testing.T) {
	for _, f := range []flaw{forgetsMarks, forgetsLetters, holdsAnyKey} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestQuarantine$", "-rapid.nofailfile", "-rapid.shrinktime=1ms", "-rapid.checks=400")
			run.Env = append(os.Environ(), flawEnv+"="+string(f))
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestQuarantine") {
				t.Errorf("the suite does not find the flaw: %v\n%s", err, out)
			}
		})
	}
}
