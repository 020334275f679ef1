package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodbstreams/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/sinks/search"
)

// jsonRows measure writing the plain JSON of decoded items, as a search index takes it.
func jsonRows() []row {
	r := row{
		id:   "json",
		work: "the plain JSON of a decoded item",
		peer: "attributevalue.UnmarshalMap, encoding/json",
		note: "the peer goes by map[string]any; an item is the new image, or the old one of a delete",
		of:   rate, least: 15, input: true,
	}
	out := shaped(r, openJSON(plainJSON))
	document := r
	document.variant, document.least, document.input, document.note = "document", 0, false, "ours is the whole plan of the search sink: its document with version and pipeline, its id, index and operation"
	document.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openJSON(searchDocument)(ctx, b, b.usual())
	}
	return append(out, document)
}

// documents makes the JSON of a change's item. The caller may keep the JSON.
type documents func(c *record.Change) ([]byte, error)

func openJSON(make func() (documents, error)) func(context.Context, *bench, *shape) (*contest, error) {
	return func(ctx context.Context, b *bench, s *shape) (*contest, error) {
		document, err := make()
		if err != nil {
			return nil, err
		}
		bodies, _ := s.pages(1)
		page, err := ourPage(ctx, sdk.New(streamsClient(answer(bodies)), record.DecoderOptions{}))
		if err != nil {
			return nil, err
		}
		records, err := sdkPage(ctx, streamsClient(answer(bodies)))
		if err != nil {
			return nil, err
		}
		for i := range records {
			ours, err := document(&page.Changes[i])
			theirs, failed := theirJSON(records[i].Dynamodb)
			if err := errors.Join(err, failed, sameDocument(ours, theirs)); err != nil {
				return nil, err
			}
		}
		return agree(ctx, b, len(records), func(context.Context) (n int, err error) {
			for i := range page.Changes {
				doc, err := document(&page.Changes[i])
				if err != nil {
					return n, err
				}
				n += min(len(doc), 1)
			}
			return n, nil
		}, func(context.Context) (n int, err error) {
			for i := range records {
				doc, err := theirJSON(records[i].Dynamodb)
				if err != nil {
					return n, err
				}
				n += min(len(doc), 1)
			}
			return n, nil
		})
	}
}

// plainJSON makes the JSON of the item as it is.
func plainJSON() (documents, error) {
	last := 0
	return func(c *record.Change) ([]byte, error) {
		item := c.New
		if !item.Exists() {
			item = c.Old
		}
		doc := item.AppendJSON(make([]byte, 0, last+last/8))
		last = len(doc)
		return doc, nil
	}, nil
}

// searchDocument makes the document of the search sink with its defaults.
func searchDocument() (documents, error) {
	index, err := template.Parse("documents", template.Options{})
	if err != nil {
		return nil, err
	}
	sink, err := search.New(search.Options{Pipeline: "bench", Store: noStore{}, Index: index})
	if err != nil {
		return nil, err
	}
	return func(c *record.Change) ([]byte, error) {
		d := pipeline.Delivery{Change: c}
		if err := sink.Plan(&d); err != nil {
			return nil, err
		}
		return d.Ops[0].(*search.Mutation).Doc, nil
	}, nil
}

// noStore gets no writes, because the sink only plans.
type noStore struct{}

// Apply fails.
func (noStore) Apply(context.Context, []search.Mutation) ([]search.Result, error) {
	return nil, errors.New("nothing is written here")
}

func theirJSON(r *types.StreamRecord) ([]byte, error) {
	item := r.NewImage
	if item == nil {
		item = r.OldImage
	}
	var document map[string]any
	if err := attributevalue.UnmarshalMap(item, &document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// sameDocument fails if two documents hold different values, except for the fields that ours adds.
func sameDocument(ours, theirs []byte) error {
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(ours, &a), json.Unmarshal(theirs, &b)); err != nil {
		return err
	}
	delete(a, "_tw")
	if !reflect.DeepEqual(a, b) {
		return errors.New("ours is another document than the SDK's")
	}
	return nil
}
