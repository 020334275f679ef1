package upgrade

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// The output of an earlier program on servers is continued to the result of one clean pass, or refused with the command
// that fills it again. Its leases and gaps are the same.
func TestServers(t *testing.T) {
	recordings(t, func(t *testing.T, r *recording) {
		w := world.Named(t, names, world.Running(t))
		cleanUp(t, w)
		if err := r.restore(t, w); err != nil {
			t.Fatal(err)
		}
		cfg := w.Config(t, t.TempDir(), r.text, w.To)
		if err := passOnServers(t, w, cfg, r.records); err != nil {
			refusal(t, err)
			return
		}
		same(t, w.Read(t, cfg), world.Embedded(t, cfg, names, r.records))
		checkLeases(t, openLeases(t, w))
		withState(t, w, cfg, func(s state.Store) { checkGap(t, s) })
	})
}

// passOnServers runs [pass] on servers. It makes missing resources.
func passOnServers(t *testing.T, w *world.World, cfg *config.Config, records [][]byte) error {
	t.Helper()
	stores := aws.Stores(w.SDK, aws.Create())
	return errors.Join(pass(t, cfg, stores, records), stores.Close())
}

// withState calls f with the state of the pipeline.
func withState(t *testing.T, w *world.World, cfg *config.Config, f func(s state.Store)) {
	t.Helper()
	stores := aws.Stores(w.SDK)
	defer func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, err := stores.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	f(s)
}

// cleanUp removes the resources that the world does not remove, so that another test can have the same names.
func cleanUp(t *testing.T, w *world.World) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		table := leaseTable
		const own = `{"query":{"ids":{"values":["upgrade,docs","upgrade,docs_by_status","upgrade,fast"]}}}`
		w.Search(t, http.MethodPost, "/"+sinkRecords+"/_delete_by_query?refresh=true&ignore_unavailable=true", own)
		_, _ = dynamodb.NewFromConfig(w.SDK).DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		objects := s3.NewFromConfig(w.SDK)
		for _, bucket := range []string{w.Bucket, w.Bucket + "-dead"} {
			pages := s3.NewListObjectsV2Paginator(objects, &s3.ListObjectsV2Input{Bucket: &bucket})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range page.Contents {
					if _, err := objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: o.Key}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := objects.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
