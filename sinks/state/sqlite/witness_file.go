package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/state"
)

// witness is a file beside the database. It shows whether the database is an older copy or a new file. Each time the
// database is opened for writing, the witness and the births in the database get the same new token. If the births have
// another token than the witness, the database is an older copy. If the database has no births although the witness
// records some, the database is a new file.
//
// While the births get the new token, the witness has both the old and the new token. So after a crash the births still
// have a token of the witness.
type witness struct {
	path string
	witnessContent
	mayDiffer bool // a write failed, so the file may have another content
}

// witnessContent is the content of the witness file.
type witnessContent struct {
	Tokens []string `json:"tokens"` // tokens that the births may have; the newest is the last
	Births bool     `json:"births"` // the database has births
}

// open reads the witness and the token of the births. Unless the database is only looked at, it gives both a new token.
func (w *witness) open(ctx context.Context, writer *Writer) error {
	if err := w.read(); err != nil {
		return err
	}
	if writer.db.lookOnly {
		return w.findToken(ctx, writer.db)
	}
	return w.renewToken(writer)
}

// findToken makes the token that the births have the newest one, in memory alone. If a process was killed while it
// renewed the token, the births have an older token of the witness.
func (w *witness) findToken(ctx context.Context, db *DB) error {
	var found string
	err := db.Reader().QueryRowContext(ctx, `SELECT state FROM "_tws_births" WHERE state IN (SELECT value FROM json_each(?))`,
		JSONArray(w.Tokens)).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		if len(w.Tokens) == 0 {
			w.Tokens = []string{state.NewID()} // no birth has it, like the token of a new witness
		}
		return nil
	}
	if err != nil {
		return db.WrapError("read the births of", err)
	}
	w.Tokens = append(w.Tokens, found)
	return nil
}

// renewToken gives the witness and the births a new token.
func (w *witness) renewToken(writer *Writer) error {
	old := slices.Clone(w.Tokens)
	w.Tokens = append(w.Tokens, state.NewID())
	if err := w.write(); err != nil {
		return err
	}

	if err := writer.Exec(`UPDATE "_tws_births" SET state = ? WHERE state IN (SELECT value FROM json_each(?))`,
		w.identity(), JSONArray(old)); err != nil {
		return err
	}
	w.Tokens = w.Tokens[len(w.Tokens)-1:]
	return w.write()
}

// read reads the witness file. If it is missing, the content stays empty.
func (w *witness) read() error {
	b, err := os.ReadFile(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.Classify(err)
	}
	if err := json.Unmarshal(b, &w.witnessContent); err != nil {
		return pipeline.Fatal(errs.Errorf("sqlite: %s is damaged: %w: restore it and the database from one copy, or move it "+
			"away: then `tablewake adopt` shows what can be accepted", redact.Safe(w.path), err))
	}
	return nil
}

// identity returns the newest token, or "" if w is nil.
func (w *witness) identity() string {
	if w == nil {
		return ""
	}
	return w.Tokens[len(w.Tokens)-1]
}

// hasBirths reports whether the witness records that the database has births.
func (w *witness) hasBirths() bool { return w != nil && w.Births }

// setBirths records whether the database has births. Its callers hold the writing connection, so no two calls run at
// once.
func (w *witness) setBirths(births bool) error {
	if w == nil || w.Births == births && !w.mayDiffer {
		return nil
	}
	w.Births = births
	err := w.write()
	w.mayDiffer = err != nil
	return err
}

// write replaces the witness file.
func (w *witness) write() error {
	b, err := json.Marshal(w.witnessContent)
	if err == nil {
		err = private.WriteFile(w.path, "", append(b, '\n'))
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the witness %s: %w", w.path, err)
	}
	return disk.Classify(err)
}
