package main

import (
	"context"
	"fmt"
)

// agree makes a contest of two sides that process n records in this process and must find the same result. Each round
// checks that the side still finds this result.
func agree[T comparable](ctx context.Context, b *bench, records int, ours, theirs func(context.Context) (T, error)) (*contest, error) {
	want, err := theirs(ctx)
	if err != nil {
		return nil, fmt.Errorf("the peer: %w", err)
	}
	var nothing T
	if want == nothing {
		return nil, fmt.Errorf("the peer found nothing")
	}
	checked := func(who string, do func(context.Context) (T, error)) work {
		return func(ctx context.Context) (int, error) {
			got, err := do(ctx)
			if err == nil && got != want {
				err = fmt.Errorf("%s found %+v, and the peer at first %+v", who, got, want)
			}
			return records, err
		}
	}
	if _, err := checked("ours", ours)(ctx); err != nil {
		return nil, err
	}
	return &contest{ours: b.inProcess(checked("ours", ours)), peer: b.inProcess(checked("the peer", theirs))}, nil
}
