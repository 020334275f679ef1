package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodbstreams/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// decodeRows measure decoding both images of a GetRecords page into Go values of a program's own types.
func decodeRows() []row {
	r := row{
		id:   "decode",
		work: "GetRecords of a page of 1 MB, both images of each record into a struct, strings copied",
		peer: "aws-sdk-go-v2, attributevalue.UnmarshalMap",
		of:   rate, least: 5, input: true,
		note: "the struct has 13 fields; records of -input go into map[string]any",
		missed: "half of the time is the page (row page, a whole call), half the two structs: three allocations each, the names of 22 values, the texts in one piece. " +
			"What was tried and took as long: the body through a buffer that stays in the cache, with its checksum on the way, and into memory that is not cleared before",
		open: func(ctx context.Context, b *bench) (*contest, error) {
			if b.input != nil {
				return openDecode[map[string]any](ctx, b, b.input)
			}
			return openDecode[order](ctx, b, usual())
		},
	}
	beside := r
	beside.variant, beside.least, beside.input, beside.note = "any", 0, false, "into map[string]any"
	beside.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openDecode[map[string]any](ctx, b, b.usual())
	}
	return []row{r, beside}
}

func openDecode[T any](ctx context.Context, b *bench, s *shape) (*contest, error) {
	bodies, records := s.pages(4)
	client := streamsClient(answer(bodies))
	reader := sdk.New(client, record.DecoderOptions{})
	if err := sameValues[T](ctx, bodies); err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (n int, err error) {
		for range bodies {
			page, err := ourPage(ctx, reader)
			if err != nil {
				return n, err
			}
			for i := range page.Changes {
				for _, image := range [...]item.Image{page.Changes[i].Old, page.Changes[i].New} {
					if !image.Exists() {
						continue
					}
					if _, err := unmarshal.Decode[T](image); err != nil {
						return n, err
					}
					n++
				}
			}
		}
		return n, nil
	}
	theirs := func(ctx context.Context) (n int, err error) {
		for range bodies {
			page, err := sdkPage(ctx, client)
			if err != nil {
				return n, err
			}
			for i := range page {
				for _, image := range [...]map[string]types.AttributeValue{page[i].Dynamodb.OldImage, page[i].Dynamodb.NewImage} {
					if image == nil {
						continue
					}
					var out T
					if err := attributevalue.UnmarshalMap(image, &out); err != nil {
						return n, err
					}
					n++
				}
			}
		}
		return n, nil
	}
	return agree(ctx, b, records, ours, theirs)
}

// sameValues fails if ours and the SDK make different values of an image.
func sameValues[T any](ctx context.Context, bodies [][]byte) error {
	reader := sdk.New(streamsClient(answer(bodies)), record.DecoderOptions{})
	client := streamsClient(answer(bodies))
	for range bodies {
		ours, err := ourPage(ctx, reader)
		if err != nil {
			return err
		}
		theirs, err := sdkPage(ctx, client)
		if err != nil {
			return err
		}
		if len(ours.Changes) != len(theirs) {
			return fmt.Errorf("a page holds %d changes, and %d records of the SDK", len(ours.Changes), len(theirs))
		}
		for i := range theirs {
			if err := errors.Join(
				sameValue[T](ours.Changes[i].Old, theirs[i].Dynamodb.OldImage),
				sameValue[T](ours.Changes[i].New, theirs[i].Dynamodb.NewImage)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameValue[T any](image item.Image, values map[string]types.AttributeValue) error {
	if image.Exists() != (values != nil) {
		return fmt.Errorf("an image is there on one side only")
	}
	if values == nil {
		return nil
	}
	got, err := unmarshal.Decode[T](image)
	if err != nil {
		return err
	}
	var want T
	if err := attributevalue.UnmarshalMap(values, &want); err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("ours is another %T than the SDK's", want)
	}
	return nil
}
