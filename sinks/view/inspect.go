package view

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Inspector shows what stands at the keys of rows, tombstones too: what a [Reader]
// skips is what explains why a row is not there.
type Inspector interface {
	// Stands reads rows of a view or an aggregate in the order of rows, consistently; its
	// tombstones from where they are. The zero Standing is a key
	// at which nothing is. The error is ErrNoTable where there is no such table.
	Stands(ctx context.Context, t Target, rows []state.Row) ([]Standing, error)
}

// Standing is what stands at the key of a row.
type Standing struct {
	There     bool
	Tombstone bool           // the row is gone, and older changes of it are refused
	Version   record.Version // of the change that it is of
	Source    item.Key       // of the item that it is of; "" of a group's
	View      string         // sink that it belongs to
	Pipeline  string         // that wrote it
	Item      item.Image     // whole, with its key, without _tw
	Expires   time.Time      // when a tombstone may go; zero where it is kept
}
