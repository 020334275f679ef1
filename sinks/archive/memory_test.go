package archive_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/sinks/archive"
)

// memory is a store that keeps objects in memory.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	put     []archive.Object // all objects in the order of Put
	class   map[string]string
	written map[string]time.Time
	frozen  map[string]bool
	gets    int
	fail    error
}

var (
	_ archive.Lister   = (*memory)(nil)
	_ archive.Replacer = (*memory)(nil)
)

func (m *memory) Put(_ context.Context, o archive.Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if _, ok := m.objects[o.Name]; ok {
		return archive.ErrExists
	}
	if m.objects == nil {
		m.objects = make(map[string][]byte)
	}
	m.objects[o.Name] = bytes.Clone(o.Body)
	m.put = append(m.put, o)
	return nil
}

func (m *memory) Describe(_ context.Context, name string) (archive.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[name]
	if !ok {
		return archive.Stored{}, archive.ErrNoObject
	}
	return archive.Stored{Content: bytes.Clone(b), Tag: string(b)}, nil
}

func (m *memory) Replace(_ context.Context, o archive.Object, stored archive.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[o.Name]
	switch {
	case m.fail != nil:
		return m.fail
	case !ok:
		return archive.ErrNoObject
	case string(b) != stored.Tag:
		return archive.ErrExists
	}
	m.objects[o.Name] = bytes.Clone(o.Body)
	m.put = append(m.put, o)
	return nil
}

func (m *memory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	b, ok := m.objects[name]
	if !ok {
		return nil, archive.ErrNoObject
	}
	if m.frozen[name] {
		return nil, &archive.FrozenError{Objects: []archive.Frozen{{Name: name, Class: m.class[name], Restore: "wake " + name}}}
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (m *memory) List(_ context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		for _, name := range m.names() {
			if strings.HasPrefix(name, prefix) && !yield(m.info(name), nil) {
				return
			}
		}
	}
}

func (m *memory) info(name string) archive.Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	return archive.Info{Name: name, Size: int64(len(m.objects[name])), Class: m.class[name], Modified: m.written[name]}
}

func (m *memory) names() []string { return slices.Sorted(maps.Keys(m.objects)) }

// text returns the content of an object after decompression.
func (m *memory) text(t *testing.T, name string) string {
	t.Helper()
	b := m.objects[name]
	if !strings.HasSuffix(name, ".zst") {
		return string(b)
	}
	d, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, err = io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
