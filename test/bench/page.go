package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// pageRows measure decoding GetRecords answers of 1 MB.
func pageRows() []row {
	r := row{
		id:   "page",
		work: "decode a GetRecords answer of 1 MB",
		peer: "the deserializer of aws-sdk-go-v2, in a call of GetRecords",
		of:   rate, least: 10, input: true,
		note: "the answer is in memory; a page has 1,000 records at most",
	}
	out := shaped(r, openPage(decodeBodies))
	whole := r
	whole.variant, whole.least = "a whole call", 0
	whole.work, whole.peer = "GetRecords of a page of 1 MB: request, signature, body, checksum, decoding", "GetRecords of aws-sdk-go-v2"
	whole.note = ""
	whole.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openPage(callForBodies)(ctx, b, b.usual())
	}
	return append(out, whole)
}

// pageTally counts what pages hold.
type pageTally struct{ records, images, attributes int }

// pages calls do with each page in bodies.
type pages func(ctx context.Context, client *dynamodbstreams.Client, bodies [][]byte, do func(*record.Page)) error

// decodeBodies decodes the bytes of the answers.
func decodeBodies(_ context.Context, _ *dynamodbstreams.Client, bodies [][]byte, do func(*record.Page)) error {
	decoder := record.NewDecoder(record.DecoderOptions{StreamARN: streamARN, Shard: "1"})
	for _, body := range bodies {
		answer, err := decoder.DecodeGetRecords(body)
		if err != nil {
			return err
		}
		if errs := answer.Page.Errors; len(errs) > 0 {
			return errs[0]
		}
		do(answer.Page)
	}
	return nil
}

// callForBodies requests the pages from the client.
func callForBodies(ctx context.Context, client *dynamodbstreams.Client, bodies [][]byte, do func(*record.Page)) error {
	reader := sdk.New(client, record.DecoderOptions{})
	for range bodies {
		page, err := ourPage(ctx, reader)
		if err != nil {
			return err
		}
		do(page)
	}
	return nil
}

func openPage(read pages) func(context.Context, *bench, *shape) (*contest, error) {
	return func(ctx context.Context, b *bench, s *shape) (*contest, error) {
		bodies, records := s.pages(4)
		client := streamsClient(answer(bodies))
		return agree(ctx, b, records, ourPages(read, client, bodies), theirPages(client, bodies))
	}
}

func ourPages(read pages, client *dynamodbstreams.Client, bodies [][]byte) func(context.Context) (pageTally, error) {
	return func(ctx context.Context) (t pageTally, err error) {
		err = read(ctx, client, bodies, func(page *record.Page) {
			for i := range page.Changes {
				t.records++
				for _, image := range []item.Image{page.Changes[i].Old, page.Changes[i].New} {
					if image.Exists() {
						t.images++
						t.attributes += image.Len()
					}
				}
			}
		})
		return t, err
	}
}

func theirPages(client *dynamodbstreams.Client, bodies [][]byte) func(context.Context) (pageTally, error) {
	return func(ctx context.Context) (t pageTally, err error) {
		for range bodies {
			page, err := sdkPage(ctx, client)
			if err != nil {
				return t, err
			}
			for i := range page {
				t.records++
				for _, image := range []map[string]types.AttributeValue{page[i].Dynamodb.OldImage, page[i].Dynamodb.NewImage} {
					if image != nil {
						t.images++
						t.attributes += len(image)
					}
				}
			}
		}
		return t, nil
	}
}

// ourPage returns a page of our reader, or the first error of its records.
func ourPage(ctx context.Context, reader *sdk.Streams) (*record.Page, error) {
	answer, err := reader.GetRecords(ctx, shardreader.RecordsQuery{StreamARN: streamARN, Shard: "1", Iterator: streamARN + "|1|this"})
	if err != nil {
		return nil, err
	}
	if errs := answer.Page.Errors; len(errs) > 0 {
		return nil, errs[0]
	}
	return answer.Page, nil
}
