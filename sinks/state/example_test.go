package state_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// A program delivers the dead letters of an order and clears its mark. If another dead letter arrived meanwhile, the
// mark stays.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer db.Close()
	var store state.Store = db.State("shop")

	// A pipeline calls MarkKeys for each dead letter of an order.
	err = errors.Join(store.MarkKeys(ctx, "crm", []item.Key{"o1", "o2"}), store.MarkKeys(ctx, "crm", []item.Key{"o2"}))
	if err != nil {
		log.Print(err)
		return
	}
	for mark, err := range store.Marks(ctx, "crm") {
		if err != nil {
			log.Print(err)
			return
		}
		var late error
		if mark.Key == "o1" {
			late = store.MarkKeys(ctx, "crm", []item.Key{"o1"}) // one more dead letter
		}
		cleared, err := store.Clear(ctx, mark)
		if err := errors.Join(late, err); err != nil {
			log.Print(err)
			return
		}
		fmt.Println(mark.Key, "had", mark.Letters, "letters, cleared:", cleared)
	}
	// Output:
	// o1 had 1 letters, cleared: false
	// o2 had 2 letters, cleared: true
}
