package sinks

import (
	"context"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// If the BatchError of the inner sink is invalid, the affected deliveries fail and do not count as written.
func TestWriteSelected_InnerSinkBreaksTheContract(t *testing.T) {
	for name, tt := range map[string]struct {
		failed    map[int]error
		batchFail bool // all deliveries fail
	}{
		"index out of range":                 {map[int]error{1: errors.New("no")}, true},
		"index out of range without a cause": {map[int]error{-1: nil}, true},
		"no cause":                           {map[int]error{0: nil}, false},
	} {
		inner := pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error { return &pipeline.BatchError{Failed: tt.failed} })
		ds := make([]pipeline.Delivery, 2)
		err := forwarder{inner}.writeSelected(t.Context(), ds, []int{1}, pipeline.BatchError{})
		batch, isBatch := errors.AsType[*pipeline.BatchError](err)
		if err == nil || isBatch == tt.batchFail {
			t.Errorf("%s: %v, want an error, of all deliveries: %v", name, err, tt.batchFail)
			continue
		}
		if isBatch && (len(batch.Failed) != 1 || batch.Failed[1] == nil) {
			t.Errorf("%s: %v failed, want delivery 1", name, batch.Failed)
		}
	}
}
