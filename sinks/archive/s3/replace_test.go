package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/server"
)

// Replace replaces an object only if the object has not changed since Describe. Replace does not create a missing
// object.
func TestReplace(t *testing.T) {
	t.Parallel()
	for name, endpoint := range servers(t) {
		t.Run(name, func(t *testing.T) {
			s, _, _ := fresh(t, endpoint)
			o := archive.Object{Name: "a/b#c.json", Body: []byte("first"), Item: "USER%231", Version: "1"}
			if err := s.Put(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			first, err := s.Describe(t.Context(), o.Name)
			if err != nil || first.Item != o.Item || first.Version != "1" || first.Tag == "" || first.Content != nil {
				t.Fatalf("described as %+v (%v)", first, err)
			}
			o.Body, o.Version = []byte("second"), "2"
			if err := s.Replace(t.Context(), o, first); err != nil {
				t.Fatal(err)
			}
			o.Body, o.Version = []byte("third"), "3"
			if err := s.Replace(t.Context(), o, first); !errors.Is(err, archive.ErrExists) {
				t.Errorf("replaced by an old description: %v", err)
			}
			if got, err := s.Describe(t.Context(), o.Name); err != nil || got.Version != "2" || get(t, s, o.Name) != "second" {
				t.Errorf("described as %+v (%v), holds %s", got, err, get(t, s, o.Name))
			}
			if err := s.Remove(t.Context(), []string{o.Name}); err != nil {
				t.Fatal(err)
			}
			err = s.Replace(t.Context(), o, first)
			if !errors.Is(err, archive.ErrNoObject) && !errors.Is(err, archive.ErrExists) {
				t.Errorf("a removed object is replaced: %v", err)
			}
			if _, err := s.Describe(t.Context(), o.Name); !errors.Is(err, archive.ErrNoObject) {
				t.Errorf("a removed object is described: %v", err)
			}
		})
	}
}

// If many writers replace one object at the same time, exactly one of them succeeds.
func TestOneOfManyReplacersWins(t *testing.T) {
	t.Parallel()
	s, client, bucket := fresh(t, server.S3().Endpoint(t))
	put(t, s, "a.json", "first")
	first, err := s.Describe(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		other := open(t, s3.Options{Client: client, Bucket: bucket})
		wg.Go(func() {
			errs[i] = other.Replace(t.Context(), archive.Object{Name: "a.json", Body: fmt.Appendf(nil, "of %d", i)}, first)
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		_, retry := pipeline.Retryable(err)
		switch {
		case err == nil:
			won++
			if got := get(t, s, "a.json"); got != fmt.Sprintf("of %d", i) {
				t.Errorf("%d won, and the object holds %s", i, got)
			}
		case !errors.Is(err, archive.ErrExists) && !retry:
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}

// A server that ignores If-Match would overwrite newer objects. The store therefore refuses such a server before the
// first replacement.
func TestServersThatIgnoreIfMatchAreRefused(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("If-Match") != "" {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"x"`}}, Body: http.NoBody, Request: r}, nil
			}
			return next.RoundTrip(r)
		})
	})
	s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client)})
	put(t, s, "a.json", "first")
	stored, err := s.Describe(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Replace(t.Context(), archive.Object{Name: "a.json", Body: []byte("second")}, stored)
	if !pipeline.IsFatal(err) || !errors.Is(err, archive.ErrNoConditions) || !strings.Contains(err.Error(), "If-Match") {
		t.Errorf("error %v", err)
	}
}

// An object in GLACIER cannot be read, but the sink still replaces it only with a newer version of the same item.
func TestGlacierNewest(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.Moto().Endpoint(t), nil)
	bucket := newBucket(t, client)
	s := open(t, s3.Options{Client: client, Bucket: bucket, StorageClass: "GLACIER"})
	key, err := template.Parse("archive/{Type}/{PK}/{SK}.json", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := archive.New(archive.Options{Store: s, Layout: archive.PerItem, Key: key, RawNames: true})
	if err != nil {
		t.Fatal(err)
	}
	write := func(pk, sk string, sequence int) error {
		item := fmt.Sprintf(`"PK":{"S":%q},"SK":{"S":%q}`, pk, sk)
		d := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines(fmt.Appendf(nil,
			`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"%d","Keys":{%s},"OldImage":{%s,"Type":{"S":"Order"}}}}`, sequence, item, item))
		ds := []pipeline.Delivery{{Change: &d.Changes[0]}}
		if err := sink.Plan(&ds[0]); err != nil {
			t.Fatal(err)
		}
		return sink.Write(t.Context(), ds)
	}
	const name = "archive/Order/USER#1/ORDER#2.json"
	for _, sequence := range []int{5, 7, 6, 7} {
		if err := write("USER#1", "ORDER#2", sequence); err != nil {
			t.Fatal(err)
		}
	}
	head, err := client.HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: &bucket, Key: aws.String(name)})
	if err != nil || head.StorageClass != "GLACIER" || head.Metadata["tablewake-item"] != "USER%231,ORDER%232" ||
		!strings.HasSuffix(head.Metadata["tablewake-version"], "07") {
		t.Errorf("stored as %+v (%v)", head, err)
	}
	if err := write("USER#1/ORDER#2.json", "x", 1); err != nil {
		t.Errorf("an object below it: %v", err)
	}
	if err := write("USER#1/ORDER#2.json/x.json", "y", 1); err != nil {
		t.Errorf("an object below it: %v", err)
	}
	err = write("USER#1/ORDER#2.json", "x.json/y", 1)
	if _, retry := pipeline.Retryable(err); err == nil || retry || !strings.Contains(err.Error(), "holds the item") {
		t.Errorf("an item with the object of another: %v", err)
	}
}
