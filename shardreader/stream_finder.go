package shardreader

import (
	"context"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// FindStream returns the stream whose ARN is name, or the newest stream of the table whose name or ARN is name.
func FindStream(ctx context.Context, api API, name string) (StreamRef, error) {
	refs, err := FindStreams(ctx, api, name)
	if err != nil {
		return StreamRef{}, err
	}
	return refs[len(refs)-1], nil
}

// FindStreams returns the streams that name selects, the newest last. The ARN of a stream selects this stream. The name
// or the ARN of a table selects all streams of the table. FindStreams returns at least one stream or an error. A table
// has several streams if its stream was disabled and enabled again: an old stream stays readable for 24 hours.
func FindStreams(ctx context.Context, api API, name string) ([]StreamRef, error) {
	if !strings.HasPrefix(name, "arn:") {
		return streamsOfTable(ctx, api, name)
	}
	ref := StreamFromARN(name)
	switch {
	case strings.Contains(name, "/stream/"):
		return []StreamRef{ref}, nil
	case ref.Table == "" || strings.Contains(ref.Table, "/"):
		return nil, errs.Errorf("%s is neither the ARN of a table nor of a stream", redact.Safe(name))
	}
	return streamsOfTable(ctx, api, ref.Table)
}

// streamsOfTable returns the streams of a table, the newest last. It returns at least one stream or an error.
func streamsOfTable(ctx context.Context, api API, table string) ([]StreamRef, error) {
	var refs []StreamRef
	after := ""
	for {
		page, err := api.ListStreams(ctx, table, after)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Streams {
			if s.Table == table {
				refs = append(refs, s)
			}
		}
		if page.After == "" {
			break
		}
		if page.After == after {
			return nil, errs.Errorf("ListStreams of table %s: the page after stream %s names that stream again",
				redact.Safe(table), redact.Safe(after))
		}
		after = page.After
	}
	if len(refs) == 0 {
		return nil, &Error{
			Op:      "ListStreams",
			Subject: "of table " + table,
			Kind:    ErrNotFound,
			Hint: "check name, Region and account, and that the table has a stream: aws dynamodb update-table --table-name " +
				table + " --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
		}
	}
	slices.SortStableFunc(refs, func(a, b StreamRef) int { return strings.Compare(a.Label, b.Label) })
	return refs, nil
}

// ListShards reads all pages of DescribeStream. It returns the description of the stream with all of its shards.
func ListShards(ctx context.Context, api API, streamARN string) (StreamDescription, error) {
	d, err := api.DescribeStream(ctx, DescribeQuery{StreamARN: streamARN})
	if err != nil {
		return d, err
	}
	for d.After != "" {
		page, err := api.DescribeStream(ctx, DescribeQuery{StreamARN: streamARN, After: d.After})
		if err != nil {
			return d, err
		}
		if page.After == d.After {
			return d, errs.Errorf("DescribeStream %s: the page after shard %s names that shard again", redact.Safe(streamARN),
				redact.Safe(d.After))
		}
		d.Shards, d.After = append(d.Shards, page.Shards...), page.After
	}
	return d, nil
}
