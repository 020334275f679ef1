package dir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/dir"
)

func open(t *testing.T, path string) *dir.Store {
	t.Helper()
	s, err := dir.New(dir.Options{Dir: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(t *testing.T, s *dir.Store, name string) string {
	t.Helper()
	r, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, s *dir.Store, prefix string) []string {
	t.Helper()
	var all []string
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Name)
	}
	return all
}

func TestObjects(t *testing.T) {
	path := t.TempDir()
	s := open(t, path)
	all := []string{"a", "a/b", "a/b.json", "a/b.json/c.json", "b//x", "../up", strings.Repeat("ü", 300) + ".json"}
	for _, name := range all {
		if err := s.Put(t.Context(), archive.Object{Name: name, Body: []byte("of " + name)}); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, path)
	slices.Sort(all)
	if got := names(t, s, ""); !slices.Equal(got, all) {
		t.Errorf("names %q, want %q", got, all)
	}
	if got, want := names(t, s, "a/b"), []string{"a/b", "a/b.json", "a/b.json/c.json"}; !slices.Equal(got, want) {
		t.Errorf("names with a prefix %q, want %q", got, want)
	}
	for _, name := range all {
		if got := get(t, s, name); got != "of "+name {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if _, err := s.Get(t.Context(), "a/c"); !errors.Is(err, archive.ErrNoObject) {
		t.Errorf("a missing object: %v, want ErrNoObject", err)
	}
}

// A store whose folder is a link has the objects of the real folder.
func TestLinkedFolder(t *testing.T) {
	path := t.TempDir()
	open(t, path)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, link)
	if err := s.Put(t.Context(), archive.Object{Name: "a/b.json", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, "a/"); !slices.Equal(got, []string{"a/b.json"}) {
		t.Errorf("the linked folder has the objects %q", got)
	}
}

// A file is replaced only if it has the content that Describe returned, even if that content is empty.
func TestReplace(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Put(t.Context(), archive.Object{Name: "a.json"}); err != nil {
		t.Fatal(err)
	}
	empty, err := s.Describe(t.Context(), "a.json")
	if err != nil || empty.Content == nil || len(empty.Content) != 0 {
		t.Fatalf("described as %+v (%v)", empty, err)
	}
	if err := s.Replace(t.Context(), archive.Object{Name: "a.json", Body: []byte("first")}, empty); err != nil {
		t.Fatal(err)
	}
	err = s.Replace(t.Context(), archive.Object{Name: "a.json", Body: []byte("second")}, empty)
	if got := get(t, s, "a.json"); !errors.Is(err, archive.ErrExists) || got != "first" {
		t.Errorf("replaced by an old description: %v; the object holds %q", err, got)
	}
}

func TestAnObjectIsNeverOverwritten(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Put(t.Context(), archive.Object{Name: "a.json", Body: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), archive.Object{Name: "a.json", Body: []byte("second")}); !errors.Is(err, archive.ErrExists) {
		t.Errorf("a second Put: %v, want ErrExists", err)
	}
	if got := get(t, s, "a.json"); got != "first" {
		t.Errorf("the object holds %q", got)
	}
}

// If folders are removed while the store is open, the store creates them again.
func TestRemovedFolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive")
	s := open(t, path)
	for i, remove := range []string{"", "a/b", "~tmp", "a", "."} {
		if remove != "" {
			if err := os.RemoveAll(filepath.Join(path, remove)); err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("a/b/%d.json", i)
		if err := s.Put(t.Context(), archive.Object{Name: name, Body: []byte("body")}); err != nil {
			t.Fatalf("without %s: %v", remove, err)
		}
		if got := get(t, s, name); got != "body" {
			t.Errorf("without %s: the object holds %q", remove, got)
		}
	}
}

// If an object is removed while List reads its folder, List continues and still returns the other objects.
func TestListBesideRemovers(t *testing.T) {
	path := t.TempDir()
	s := open(t, path)
	if err := s.Put(t.Context(), archive.Object{Name: "folder/stays.json"}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ { // not through the store, which syncs and would be slower than the list
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(filepath.Join(path, fmt.Sprintf("folder/%d.json", i%200)), nil, 0o644)
			_ = os.Remove(filepath.Join(path, fmt.Sprintf("folder/%d.json", (i+100)%200)))
		}
	})
	for range 300 {
		if !slices.Contains(names(t, s, ""), "folder/stays.json") {
			t.Error("a file that stays is not listed")
		}
	}
	close(stop)
	wg.Wait()
}

func TestOneOfManyWritersWins(t *testing.T) {
	path := t.TempDir()
	const writers = 16
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		s := open(t, path) // like another process
		wg.Go(func() {
			errs[i] = s.Put(t.Context(), archive.Object{Name: "folder/a.json", Body: fmt.Appendf(nil, "of %d", i)})
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, archive.ErrExists):
			t.Error(err)
		}
	}
	if got, want := get(t, open(t, path), "folder/a.json"), fmt.Sprintf("of %d", winner); got != want {
		t.Errorf("the object holds %q, want %q", got, want)
	}
}

// Opening the folder removes old unfinished files of a crash. It keeps young ones, because another process can still be
// writing them.
func TestUnfinishedFiles(t *testing.T) {
	path := t.TempDir()
	if err := open(t, path).Put(t.Context(), archive.Object{Name: "a.json", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(path, "~tmp", "old"), filepath.Join(path, "~tmp", "young")
	for _, f := range []string{old, young} {
		if err := os.WriteFile(f, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if got := names(t, s, ""); !slices.Equal(got, []string{"a.json"}) {
		t.Errorf("names %q", got)
	}
	entries, err := os.ReadDir(filepath.Join(path, "~tmp"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "young" {
		t.Errorf("unfinished files %v (%v), want the young one alone", entries, err)
	}
}

func TestErrors(t *testing.T) {
	if _, err := dir.New(dir.Options{}); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("without a folder: %v", err)
	}
	path := t.TempDir()
	s := open(t, path)
	if err := os.WriteFile(filepath.Join(path, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := s.Put(t.Context(), archive.Object{Name: "a/b.json", Body: []byte("x")}) // a foreign file is in the way
	if _, retry := pipeline.Retryable(err); !retry {
		t.Errorf("a folder that cannot be made: %v, want a transient error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, archive.Object{Name: "b.json"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled Put: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "b.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a canceled Put wrote: %v", err)
	}
}
