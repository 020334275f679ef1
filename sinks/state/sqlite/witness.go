package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// witness is a file beside the database. Each time the database is opened to be written it gets
// another token, and so do the births in it: an older copy that is put back holds an
// older token, and one that is new holds none.
//
// Both tokens are in the witness before the births change, so that a crash between leaves
// births with one that it knows.
type witness struct {
	path string
	testimony
}

// testimony is what the file says.
type testimony struct {
	Tokens []string `json:"tokens"` // that births may have; the newest last
	Births bool     `json:"births"` // that there are births
}

// testify gives the file and its births a new token.
func (w *witness) testify(ctx context.Context, db *Writer) error {
	b, err := os.ReadFile(w.path)
	if err == nil {
		err = json.Unmarshal(b, &w.testimony)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk.Failed(err)
	}
	was := slices.Clone(w.Tokens)
	w.Tokens = append(w.Tokens, strings.ToLower(rand.Text()[:16]))
	if err := w.write(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := db.Exec(ctx, `UPDATE "_tws_births" SET state = ? WHERE state IN (SELECT value FROM json_each(?))`, w.identity(), List(was)); err != nil {
		return err
	}
	w.Tokens = w.Tokens[len(w.Tokens)-1:]
	return w.write()
}

// identity is the token of the file; "" where there is no witness.
func (w *witness) identity() string {
	if w == nil {
		return ""
	}
	return w.Tokens[len(w.Tokens)-1]
}

// remembers tells whether the witness knows of births.
func (w *witness) remembers() bool { return w != nil && w.Births }

// know notes whether there are births. It is called with the writing connection.
func (w *witness) know(births bool) error {
	if w == nil || w.Births == births {
		return nil
	}
	w.Births = births
	return w.write()
}

// write replaces the file.
func (w *witness) write() error {
	b, err := json.Marshal(w.testimony)
	if err == nil {
		err = linefile.Replace(w.path, append(b, '\n'))
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the witness %s: %w", w.path, err)
	}
	return disk.Failed(err)
}
