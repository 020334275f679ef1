package handlers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
)

// Objects is S3, as far as it is needed here.
type Objects interface {
	// GetObject blocks until the whole object is read, of its newest version where version is
	// "". An object that is there no more is an error that wraps [ErrGone].
	GetObject(ctx context.Context, bucket, key, version string) ([]byte, error)
}

// ErrGone is the error of an object that was deleted, or has expired.
var ErrGone = errs.New("the object is gone")

// object is the record of a batch that Lambda gave up, in an object of its on-failure bucket.
func (h *handler) object(ctx context.Context, cuts cuts, at place) (*invocation, error) {
	if h.o.objects == nil {
		return nil, errs.New("the message names an object of S3, and this function does not read S3: give handlers.WithObjects")
	}
	ctx, cancel := cuts.context(ctx)
	defer cancel()
	b, err := h.o.objects.GetObject(ctx, at.bucket, at.key, at.version)
	switch {
	case errors.Is(err, ErrGone):
		return nil, errs.Errorf("%s: %w, and with it the place of its records in the stream: bring it back from its versions or a backup, or delete the message: what follows these items is right again at their next change", pipeline.Safe(at.String()), ErrGone)
	case err != nil:
		return nil, errs.Errorf("%s: %w", pipeline.Safe(at.String()), err)
	}
	var r invocation
	if json.Unmarshal(b, &r) != nil || r.DynamoDB == nil && r.Kinesis == nil {
		return nil, errs.Errorf("%s: this is no record of a batch that Lambda gave up: narrow the bucket's notification to the prefix aws/lambda/, and delete the message", pipeline.Safe(at.String()))
	}
	return &r, nil
}
