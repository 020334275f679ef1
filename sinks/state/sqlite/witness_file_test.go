package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// opened opens a file with its witness. ours reports whether the only birth belongs to the file, and forgot reports
// whether the file has lost births that the witness remembers.
func opened(t *testing.T, dir string, then func(s *sqlite.State)) (ours, forgot bool) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "views.db"), sqlite.Options{Witness: filepath.Join(dir, "witness")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.State("shop")
	is, err := s.Identity(t.Context())
	if err != nil || is == "" {
		t.Fatalf("the identity is %q (%v)", is, err)
	}
	if then != nil {
		then(s)
	}
	b, found, err := state.FindBirth(t.Context(), s, "orders", "table a")
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.DetectLoss(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found && b.State == is, text != ""
}

// A file keeps its identity, however often it is opened. An older copy, a new file with the same name and a file
// without its witness have another identity.
func TestWitness(t *testing.T) {
	dir := t.TempDir()
	path, witness := filepath.Join(dir, "views.db"), filepath.Join(dir, "witness")
	if ours, forgot := opened(t, dir, nil); ours || forgot {
		t.Errorf("of a new file: %v, %v", ours, forgot)
	}
	begin := func(s *sqlite.State) {
		b := state.NewBirth("orders", "table a", time.Now())
		b.State, _ = s.Identity(t.Context())
		if _, err := s.RecordBirth(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if ours, forgot := opened(t, dir, begin); !ours || forgot {
			t.Errorf("opened %d times: %v, %v", i, ours, forgot)
		}
	}
	older := read(t, path)
	before := read(t, witness)
	if ours, _ := opened(t, dir, nil); !ours {
		t.Error("opened again it is another one")
	}

	// A crash between the two writes of the witness leaves the old and the new token.
	now := read(t, witness)
	both := []byte(`{"tokens":[` + token(t, before) + `,` + token(t, now) + `],"births":true}`)
	write(t, witness, both)
	write(t, path, older)
	if !ownsLookedAt(t, dir) {
		t.Error("looked at after a crash it is another one")
	}
	if after := read(t, witness); !bytes.Equal(after, both) {
		t.Errorf("looking at it writes the witness: %s", after)
	}
	if ours, _ := opened(t, dir, nil); !ours {
		t.Error("after a crash while it was opened it is another one")
	}

	write(t, path, older)
	if ours, forgot := opened(t, dir, nil); ours || forgot {
		t.Errorf("an older copy: %v, %v", ours, forgot)
	}
	if ours, _ := opened(t, dir, nil); ours {
		t.Error("an older copy is taken on by itself")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if ours, forgot := opened(t, dir, nil); ours || !forgot {
		t.Errorf("a file that was deleted: %v, %v", ours, forgot)
	}
	write(t, path, older)
	if err := os.Remove(witness); err != nil {
		t.Fatal(err)
	}
	if ours, _ := opened(t, dir, nil); ours {
		t.Error("a file without its witness is taken for the one that belongs here")
	}
}

// ownsLookedAt reports whether the only birth belongs to a file that is only looked at.
func ownsLookedAt(t *testing.T, dir string) bool {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "views.db"), sqlite.Options{
		Witness: filepath.Join(dir, "witness"), LookOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.State("shop")
	is, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, found, err := state.FindBirth(t.Context(), s, "orders", "table a")
	if err != nil {
		t.Fatal(err)
	}
	return found && b.State == is
}

func token(t *testing.T, witness []byte) string {
	t.Helper()
	text := string(witness)
	const from = len(`{"tokens":[`)
	if len(text) < from+18 {
		t.Fatalf("the witness says %s", text)
	}
	return text[from : from+18]
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
