package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

// An event that is published twice is in the file once.
func Example() {
	folder, err := os.MkdirTemp("", "events-")
	if err == nil {
		err = errors.Join(publishTwice(context.Background(), filepath.Join(folder, "events.jsonl")), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"id":"1","type":"tablewake.shop.order_placed"}
	// {"id":"2","type":"tablewake.shop.order_completed"}
}

func publishTwice(ctx context.Context, path string) error {
	store, err := jsonl.New(jsonl.Options{Path: path})
	if err != nil {
		return err
	}
	// In a pipeline, a notify.Sink makes such messages from events.
	placed := notify.Message{ID: "1", Body: []byte(`{"id":"1","type":"tablewake.shop.order_placed"}`)}
	completed := notify.Message{ID: "2", Body: []byte(`{"id":"2","type":"tablewake.shop.order_completed"}`)}
	err = store.Publish(ctx, []notify.Message{placed})
	if err == nil {
		err = store.Publish(ctx, []notify.Message{placed, completed})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	for event, err := range jsonl.Read(path) {
		if err != nil {
			return err
		}
		fmt.Println(string(event))
	}
	return nil
}
