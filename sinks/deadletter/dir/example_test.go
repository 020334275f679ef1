package dir_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

// A dead letter that is put twice is in the folder once, until it is removed.
func Example() {
	folder, err := os.MkdirTemp("", "letters-")
	if err == nil {
		err = errors.Join(putAndRemove(context.Background(), folder), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// crm ORDER-1 no such customer
	// crm ORDER-2 no such customer
	// after the removal:
	// crm ORDER-2 no such customer
}

func putAndRemove(ctx context.Context, folder string) (err error) {
	store, err := dir.New(dir.Options{Dir: folder})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	first := pipeline.DeadLetter{Sink: "crm", Key: "ORDER-1", Sequence: "1", Class: "write", Error: "no such customer", Raw: []byte(`{}`)}
	second := pipeline.DeadLetter{Sink: "crm", Key: "ORDER-2", Sequence: "2", Class: "write", Error: "no such customer", Raw: []byte(`{}`)}
	if err := store.Put(ctx, []pipeline.DeadLetter{first, second, first}); err != nil {
		return err
	}
	if err := printLetters(ctx, store); err != nil {
		return err
	}
	if err := store.Remove(ctx, []string{deadletter.ID(&first)}); err != nil {
		return err
	}
	fmt.Println("after the removal:")
	return printLetters(ctx, store)
}

func printLetters(ctx context.Context, store deadletter.Store) error {
	for l, err := range store.Read(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(l.Sink, l.Key, l.Error)
	}
	return nil
}
