package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// pageRows read GetRecords answers of 1 MB.
func pageRows() []row {
	r := row{
		id:   "page",
		work: "GetRecords of a page of 1 MB",
		peer: "GetRecords of aws-sdk-go-v2",
		of:   rate, least: 10, input: true,
		note: "the answer is in memory, with its checksum; a page has 1,000 records at most",
	}
	return shaped(r, openPage)
}

// pageTally is what a page held.
type pageTally struct{ records, images, attributes int }

func openPage(ctx context.Context, b *bench, s *shape) (*contest, error) {
	bodies, records := s.pages(4)
	client := streamsClient(answer(bodies))
	reader := sdk.New(client, pipeline.DecoderOptions{})
	ours := func(ctx context.Context) (t pageTally, err error) {
		for range bodies {
			page, err := ourPage(ctx, reader)
			if err != nil {
				return t, err
			}
			for i := range page.Changes {
				t.records++
				for _, image := range []pipeline.Image{page.Changes[i].Old, page.Changes[i].New} {
					if image.Exists() {
						t.images++
						t.attributes += image.Len()
					}
				}
			}
		}
		return t, nil
	}
	theirs := func(ctx context.Context) (t pageTally, err error) {
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
	return agree(ctx, b, records, ours, theirs)
}

// ourPage is a page of ours, without errors.
func ourPage(ctx context.Context, reader *sdk.Streams) (*pipeline.Page, error) {
	answer, err := reader.GetRecords(ctx, shardreader.RecordsQuery{StreamARN: streamARN, Shard: "1", Iterator: streamARN + "|1|this"})
	if err != nil {
		return nil, err
	}
	if errs := answer.Page.Errors; len(errs) > 0 {
		return nil, errs[0]
	}
	return answer.Page, nil
}
