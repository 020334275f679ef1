package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/server"
)

// archived writes n changes of five items, each change as an object of its own. It writes every third change a second
// time, in one object with the change before. It returns the changes in the order in which the archive is read.
func archived(t *testing.T, store archive.Store, n int, tags ...archive.TagTemplate) []string {
	t.Helper()
	sink, err := archive.New(archive.Options{Store: store, Prefix: "changes/", Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	var wg sync.WaitGroup
	free := make(chan struct{}, 16)
	write := func(records string) {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(records))
			ds := make([]pipeline.Delivery, len(page.Changes))
			for i := range ds {
				ds[i].Change = &page.Changes[i]
				if err := sink.Plan(&ds[i]); err != nil {
					t.Error(err)
				}
			}
			if err := sink.Write(t.Context(), ds); err != nil {
				t.Error(err)
			}
		})
	}
	record := func(i int) string {
		return fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","Keys":{"PK":{"S":"k%d"}},"NewImage":{"PK":{"S":"k%[2]d"},"n":{"N":"%[1]d"}}},`+
			`"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"}`+"\n", i, i%5)
	}
	for i := 1; i <= n; i++ {
		want = append(want, fmt.Sprintf("k%d@%04d", i%5, i))
		write(record(i))
		if i%3 == 0 {
			write(record(i-1) + record(i))
		}
	}
	wg.Wait()
	slices.Sort(want)
	return want
}

// If changes are written again, the sink replaces an object that somebody cut. It also replaces an object that somebody
// changed, if the server has a checksum of it. Without the right to the checksum, the sink compares the size.
func TestADamagedObjectIsReplaced(t *testing.T) {
	t.Parallel()
	for name, endpoint := range servers(t) {
		for _, isCut := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/cut %v", name, isCut), func(t *testing.T) {
				store, client, bucket := fresh(t, endpoint)
				want := archived(t, store, 5)
				damaged := names(t, store, "changes/")[0]
				body := get(t, store, damaged)[:20]
				in := &awss3.PutObjectInput{Bucket: &bucket, Key: &damaged}
				if !isCut {
					body = strings.Repeat("x", len(get(t, store, damaged)))
					in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32c
				}
				in.Body = strings.NewReader(body)
				if _, err := client.PutObject(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				archived(t, store, 5)
				if got, err := replayed(t, store); err != nil || !slices.Equal(got, want) {
					t.Errorf("read back %q (%v), want %q", got, err, want)
				}
			})
		}
	}
}

// shortened returns a transport that shows only the first 30 bytes of each object while it is on, with the metadata and
// the checksum of the whole object. A replacement turns it off.
func shortened(on *atomic.Bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("If-Match") != "" && r.Method == http.MethodPut {
				on.Store(false)
			}
			resp, err := next.RoundTrip(r)
			isObject := strings.Contains(r.URL.Path, "/changes/") && (r.Method == http.MethodGet || r.Method == http.MethodHead)
			if err != nil || !on.Load() || !isObject || resp.StatusCode != http.StatusOK {
				return resp, err
			}
			resp.ContentLength = 30
			resp.Header.Set("Content-Length", "30")
			if r.Method == http.MethodGet {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(resp.Body, 30), resp.Body}
			}
			return resp, nil
		})
	}
}

// A server may have less of an object than its metadata says. Reading names the object. A sink that writes the changes
// again replaces it, and does not retry to read it.
func TestAnObjectThatIsCutUnderItsMetadata(t *testing.T) {
	t.Parallel()
	key, err := template.Parse("{@key}/{@version}.json", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []archive.Options{{}, {Layout: archive.PerItem, Key: key}} {
		var isCut atomic.Bool
		client := clientOf(t, server.S3().Endpoint(t), shortened(&isCut))
		store := open(t, s3.Options{Client: client, Bucket: newBucket(t, client)})
		o.Store, o.Prefix = store, "changes/"
		sink, err := archive.New(o)
		if err != nil {
			t.Fatal(err)
		}
		write := func() {
			t.Helper()
			page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"a"}}},` +
				`"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"}`))
			ds := []pipeline.Delivery{{Change: &page.Changes[0]}}
			if err := errors.Join(sink.Plan(&ds[0]), sink.Write(t.Context(), ds)); err != nil {
				t.Error(o.Layout, o.Format, err)
			}
		}
		write()
		name := names(t, store, "changes/")[0]
		isCut.Store(true)
		if _, err := replayed(t, store); err == nil || pipelineRetries(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %s: read: %v", o.Layout, o.Format, err)
		}
		write()
		if got, err := replayed(t, store); err != nil || isCut.Load() || len(got) != 1 {
			t.Errorf("%s %s: read back %q (%v)", o.Layout, o.Format, got, err)
		}
	}
}

func pipelineRetries(err error) bool {
	_, retryable := pipeline.Retryable(err)
	return retryable
}

// If a role may not decrypt the checksum of an object, Describe returns the object without it.
func TestDescribe_NoRightToTheChecksum(t *testing.T) {
	t.Parallel()
	var refused int
	client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Amz-Checksum-Mode") == "" || r.Method != http.MethodHead {
				return next.RoundTrip(r)
			}
			refused++
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
		})
	})
	s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client)})
	put(t, s, "a.json", "first")
	stored, err := s.Describe(t.Context(), "a.json")
	if err != nil || stored.Size != 5 || stored.CRC32C != nil || refused != 1 {
		t.Errorf("described as %+v (%v) after %d refusals", stored, err, refused)
	}
}

// replayed returns the changes that an archive source reads, as item@sequence.
func replayed(t *testing.T, store archive.Lister) ([]string, error) {
	t.Helper()
	src, err := archive.NewSource(archive.SourceOptions{Store: store, Read: archive.ReadOptions{Memory: 10_000, TempDir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got []string
	for {
		p, err := src.Read(t.Context())
		if p != nil {
			q, _ := p.Decode()
			for _, c := range q.Changes {
				got = append(got, fmt.Sprintf("%s@%04s", c.Key, c.Sequence))
			}
		}
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

// An archive is read back with each version of an item once and in order. This is so before and after compaction.
func TestReadBackAndCompact(t *testing.T) {
	t.Parallel()
	team, err := template.Parse("orders", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, endpoint := range servers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := fresh(t, endpoint)
			want := archived(t, s, 45, archive.TagTemplate{Key: "team", Value: team})
			if got, err := replayed(t, s); err != nil || !slices.Equal(got, want) {
				t.Errorf("read back %d changes (%v), want %d:\n%q", len(got), err, len(want), got)
			}
			done, err := archive.Compact(t.Context(), archive.CompactOptions{Store: s})
			if err != nil || done.Large != 1 || done.Objects != 60 {
				t.Errorf("compacted: %+v (%v)", done, err)
			}
			left := names(t, s, "")
			if len(left) != 1 {
				t.Fatalf("%d objects are left", len(left))
			}
			if tags, err := s.Tags(t.Context(), left[0]); err != nil || !slices.Equal(tags, []archive.Tag{{Key: "team", Value: "orders"}}) {
				t.Errorf("tags %v (%v)", tags, err)
			}
			if got, err := replayed(t, s); err != nil || !slices.Equal(got, want) {
				t.Errorf("after that read back %d changes (%v), want %d", len(got), err, len(want))
			}
		})
	}
}

// The error of reading an archive names all objects in GLACIER at once. Compaction leaves these objects alone, and
// after a restore they are read.
func TestReadBackFromGlacier(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.Moto().Endpoint(t), nil)
	bucket := newBucket(t, client)
	cold := open(t, s3.Options{Client: client, Bucket: bucket, StorageClass: "GLACIER"})
	want := archived(t, cold, 9)
	frozenNames := names(t, cold, "")
	warm := open(t, s3.Options{Client: client, Bucket: bucket})
	want = append(want, archived(t, warm, 15)...) // the objects of the first 9 changes exist already in GLACIER
	slices.Sort(want)
	want = slices.Compact(want)
	_, err := replayed(t, warm)
	frozen, ok := errors.AsType[*archive.FrozenError](err)
	if !ok || len(frozen.Objects) != len(frozenNames) || !strings.Contains(err.Error(), "aws s3api restore-object --bucket "+bucket) {
		t.Fatalf("error %v, want %d objects", err, len(frozenNames))
	}
	done, err := archive.Compact(t.Context(), archive.CompactOptions{Store: warm})
	if err != nil || int(done.UnchangedByClass) != len(frozenNames) || done.Large != 1 {
		t.Errorf("compacted: %+v (%v)", done, err)
	}
	for _, o := range frozen.Objects {
		if !slices.Contains(frozenNames, o.Name) || o.Class != "GLACIER" {
			t.Errorf("named: %+v", o)
		}
		_, err := client.RestoreObject(t.Context(), &awss3.RestoreObjectInput{Bucket: &bucket, Key: &o.Name, RestoreRequest: &types.RestoreRequest{
			Days: aws.Int32(7), GlacierJobParameters: &types.GlacierJobParameters{Tier: types.TierStandard},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := replayed(t, warm); err != nil || !slices.Equal(got, want) {
		t.Errorf("restored: %d changes (%v), want %d", len(got), err, len(want))
	}
}
