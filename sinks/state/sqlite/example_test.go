package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// The state of a pipeline is in a file, so the next process finds it again.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.db")
	ctx := context.Background()
	if err := markKey(ctx, path, "crm", "o1"); err != nil {
		log.Print(err)
		return
	}

	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer db.Close()
	marked, err := db.State("shop").HasMarks(ctx, "crm", []item.Key{"o1", "o2"})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(marked)
	// Output:
	// [true false]
}

// markKey does what a first process does when a change of the item becomes a dead letter.
func markKey(ctx context.Context, path, sink string, key item.Key) error {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.State("shop").MarkKeys(ctx, sink, []item.Key{key}), db.Close())
}
