package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

// client returns a client of versitygw.
func client(t testing.TB, tap awstest.Tap) *awss3.Client {
	t.Helper()
	return awss3.NewFromConfig(awstest.Config(t, awstest.S3, tap), func(o *awss3.Options) { o.UsePathStyle = true })
}

// newBucket creates a bucket for the test and deletes the bucket at the end of the test.
func newBucket(t testing.TB) string {
	t.Helper()
	name, c := awstest.Name("dead"), client(t, nil)
	if _, err := c.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		p := awss3.NewListObjectsV2Paginator(c, &awss3.ListObjectsV2Input{Bucket: &name})
		for p.HasMorePages() {
			out, err := p.NextPage(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			for _, o := range out.Contents {
				if _, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &name, Key: o.Key}); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := c.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: &name}); err != nil {
			t.Error(err)
		}
	})
	return name
}

func open(t testing.TB, bucket string, tap awstest.Tap, change ...func(*s3.Options)) *s3.Store {
	t.Helper()
	o := s3.Options{Client: client(t, tap), Bucket: bucket, Prefix: "dead", Pipeline: "shop/eu"}
	for _, c := range change {
		c(&o)
	}
	s, err := s3.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// letters returns dead letters with the given numbers. The number is also the time in seconds after epoch.
func letters(ids ...int) []pipeline.DeadLetter {
	var ls []pipeline.DeadLetter
	for _, id := range ids {
		ls = append(ls, pipeline.DeadLetter{
			Pipeline: "shop/eu", Class: "undecodable", Error: "cut", Index: id, Raw: fmt.Appendf(nil, `{"n":%d`, id), Time: epoch.Add(time.Duration(id) * time.Second),
		})
	}
	return ls
}

func ids(of ...int) []string {
	var out []string
	for _, l := range letters(of...) {
		out = append(out, deadletter.ID(&l))
	}
	return out
}

func put(t testing.TB, s *s3.Store, of ...int) {
	t.Helper()
	if err := s.Put(t.Context(), letters(of...)); err != nil {
		t.Fatal(err)
	}
}

// read returns the numbers of all dead letters in the order of reading.
func read(t testing.TB, s deadletter.Store) string {
	t.Helper()
	var out []string
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(l.Index))
	}
	return strings.Join(out, " ")
}

func TestLetters(t *testing.T) {
	bucket := newBucket(t)
	s, other := open(t, bucket, nil), open(t, bucket, nil)
	stranger := open(t, bucket, nil, func(o *s3.Options) { o.Pipeline = "shop" })
	if got := read(t, s); got != "" {
		t.Errorf("a new bucket holds %s", got)
	}
	put(t, s, 3, 1)
	put(t, s)
	put(t, other, 2, 3, 3)
	put(t, s, 10)
	for _, s := range []*s3.Store{s, other} {
		if got := read(t, s); got != "1 2 3 10" {
			t.Errorf("letters %s", got)
		}
	}
	if got := read(t, stranger); got != "" {
		t.Errorf("another pipeline reads %s", got)
	}
	again := letters(3)
	again[0].Time = epoch.Add(time.Hour) // the change is delivered again and fails again
	if err := s.Put(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*s3.Store{s, other} {
		if got := read(t, s); got != "1 2 3 10" {
			t.Errorf("letters %s: one came again", got)
		}
	}
	for _, ls := range [][]int{{1, 3}, {99}, nil, {1}} {
		if err := other.Remove(t.Context(), ids(ls...)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, s); got != "2 10" {
		t.Errorf("letters %s, want 2 10", got)
	}
	put(t, s, 1)
	if got := read(t, other); got != "1 2 10" {
		t.Errorf("letters %s: one that was removed came again", got)
	}
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), ids(1, 2, 10)); err != nil || read(t, s) != "" {
		t.Errorf("letters %s (%v): a store removes what it has not read", read(t, s), err)
	}
}

// Read returns a dead letter with all its fields.
func TestRead_Whole(t *testing.T) {
	s := open(t, newBucket(t), nil)
	want := pipeline.DeadLetter{
		Pipeline: "shop/eu", Sink: "crm", Key: "a,b", Sequence: "5", StreamARN: "arn", Table: "shop", Partition: "p", Index: 3,
		Class: "write", Error: `refused: <"no">`, Raw: []byte("{\"a\":[1,2.50,\"<>&\uffff\"]}"), Time: epoch,
	}
	if err := s.Put(t.Context(), []pipeline.DeadLetter{want}); err != nil {
		t.Fatal(err)
	}
	for got, err := range s.Read(t.Context()) {
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("read back\n%+v, want\n%+v (%v)", got, want, err)
		}
	}
}

// The bucket contains exactly the dead letters that were put and not removed since, by any of several stores.
func TestProperty(t *testing.T) {
	left := 8
	rapid.Check(t, func(rt *rapid.T) {
		if left--; left < 0 {
			return
		}
		bucket := newBucket(t)
		stores := []*s3.Store{open(t, bucket, nil), open(t, bucket, nil, func(o *s3.Options) { o.Concurrency = 1 })}
		want := map[int]bool{}
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			s := rapid.SampledFrom(stores).Draw(rt, "store")
			n := rapid.IntRange(1, 9).Draw(rt, "letter")
			var err error
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				err = s.Put(t.Context(), letters(n, n%9+1))
				want[n], want[n%9+1] = true, true
			case 2:
				read(t, s) // the store remembers the objects that it read
				err = s.Remove(t.Context(), ids(n))
				delete(want, n)
			case 3:
				err = s.Release(t.Context())
			default:
				read(t, s)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		var all []string
		for n := 1; n <= 9; n++ {
			if want[n] {
				all = append(all, fmt.Sprint(n))
			}
		}
		for _, s := range stores {
			if got := read(t, s); got != strings.Join(all, " ") {
				rt.Fatalf("letters %s, want %s", got, all)
			}
		}
	})
}

// Read lists more dead letters than one page holds, and Remove removes more than one batch holds.
func TestManyLetters(t *testing.T) {
	s := open(t, newBucket(t), nil)
	var all []int
	for i := range 1010 {
		all = append(all, i)
	}
	for some := range slices.Chunk(all, 500) {
		put(t, s, some...)
	}
	n := 0
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Index != n {
			t.Fatalf("letter %d came as the %dth", l.Index, n)
		}
		n++
	}
	if n != len(all) {
		t.Errorf("%d letters of %d", n, len(all))
	}
	for range s.Read(t.Context()) {
		break
	}
	if err := s.Remove(t.Context(), ids(all[1:]...)); err != nil || read(t, s) != "0" {
		t.Errorf("letters %s (%v), want 0", read(t, s), err)
	}
}

// If a dead letter is removed during Read, Read leaves out this dead letter and continues.
func TestRead_RemovedMeanwhile(t *testing.T) {
	bucket := newBucket(t)
	s, other := open(t, bucket, nil, func(o *s3.Options) { o.Concurrency = 1 }), open(t, bucket, nil)
	put(t, s, 1, 2, 3)
	var got []int
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, l.Index); l.Index == 1 {
			if err := other.Remove(t.Context(), ids(2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, []int{1, 3}) {
		t.Errorf("letters %v", got)
	}
}

// A temporary failure is a transient error. If Put is repeated, it puts the dead letters as the same objects.
func TestFaults(t *testing.T) {
	bucket := newBucket(t)
	var mu sync.Mutex
	fail := map[string]int{} // number of next calls that fail, by method
	s := open(t, bucket, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		fails := fail[op] > 0
		fail[op]--
		mu.Unlock()
		if fails {
			return awstest.Answer(r, http.StatusServiceUnavailable, "application/xml", "<Error><Code>SlowDown</Code><Message>canary</Message></Error>"), nil
		}
		return send(body)
	})
	steps := []struct {
		method string
		do     func() error
	}{
		{"PUT", func() error { return s.Put(t.Context(), letters(1, 2, 3, 4, 5)) }},
		{"GET", func() error {
			for _, err := range s.Read(t.Context()) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"POST", func() error { return s.Remove(t.Context(), ids(1, 2)) }},
	}
	for _, step := range steps {
		mu.Lock()
		fail[step.method] = 2
		mu.Unlock()
		tries := 0
		for err := step.do(); err != nil; err = step.do() {
			if _, retry := pipeline.Retryable(err); !retry || strings.Contains(err.Error(), "canary") || tries > 3 {
				t.Fatalf("%s: %v", step.method, err)
			}
			tries++
		}
		if tries == 0 {
			t.Errorf("%s did not fail", step.method)
		}
	}
	if got := read(t, s); got != "3 4 5" {
		t.Errorf("letters %s", got)
	}
}

// If a page of the listing fails, Read has yielded the letters of the pages before it.
func TestRead_LaterPageFails(t *testing.T) {
	contents, bodies := "", map[string]string{} // of the first page
	for _, l := range letters(0, 1, 2) {
		key := fmt.Sprintf("dead/%s/2026-01-02/030405.000000006-%04d-%s.json", url.PathEscape("shop/eu"), l.Index, deadletter.ID(&l))
		body, err := deadletter.Append(nil, &l)
		if err != nil {
			t.Fatal(err)
		}
		contents += "<Contents><Key>" + key + "</Key></Contents>"
		bodies["/b/"+key] = string(body)
	}
	sdk := awstest.Offline(func(_ string, r *http.Request, _ []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
		query := r.URL.Query()
		switch {
		case query.Has("continuation-token"):
			return awstest.Answer(r, http.StatusServiceUnavailable, "application/xml", "<Error><Code>SlowDown</Code></Error>"), nil
		case query.Has("list-type"):
			return awstest.Answer(r, 200, "application/xml", "<ListBucketResult><IsTruncated>true</IsTruncated>"+
				"<NextContinuationToken>next</NextContinuationToken>"+contents+"</ListBucketResult>"), nil
		case r.Method == http.MethodGet:
			return awstest.Answer(r, 200, "application/json", bodies[r.URL.Path]), nil
		}
		return awstest.Answer(r, 200, "", ""), nil
	})
	c := awss3.NewFromConfig(sdk, func(o *awss3.Options) { o.UsePathStyle = true })
	s, err := s3.New(t.Context(), s3.Options{Client: c, Bucket: "b", Prefix: "dead", Pipeline: "shop/eu", Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for l, err := range s.Read(t.Context()) {
		if err == nil {
			got = append(got, l.Index)
		} else if _, retry := pipeline.Retryable(err); !retry {
			t.Error(err)
		}
	}
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("letters %v before the error, want 0 1 2", got)
	}
}

func TestErrors(t *testing.T) {
	bucket := newBucket(t)
	c := client(t, nil)
	for want, o := range map[string]s3.Options{
		"Client is nil":     {Bucket: bucket, Pipeline: "p"},
		"Bucket is empty":   {Client: c, Pipeline: "p"},
		"Pipeline is empty": {Client: c, Bucket: bucket},
		"Concurrency is -1": {Client: c, Bucket: bucket, Pipeline: "p", Concurrency: -1},
	} {
		if _, err := s3.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
	_, err := s3.New(t.Context(), s3.Options{Client: c, Bucket: awstest.Name("none"), Pipeline: "p"})
	if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "check the bucket's name") {
		t.Errorf("a bucket that is missing: %v", err)
	}
	s := open(t, bucket, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, retry := pipeline.Retryable(s.Put(ctx, letters(3))); !retry {
		t.Error("a canceled Put is not to be tried again")
	}
	for _, err := range s.Read(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled, the reading continues: %v", err)
		}
	}
	// Read ignores an object with a foreign name, and returns an error for an invalid object with the name of a dead
	// letter.
	for key, broken := range map[string]bool{"dead/" + url.PathEscape("shop/eu") + "/notes.txt": false, "dead/" + url.PathEscape("shop/eu") + "/2026-01-02/030405.000000006-0000-" + ids(1)[0] + ".json": true} {
		if _, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("{}")}); err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range s.Read(t.Context()) {
			failed = err
		}
		if (failed != nil) != broken || broken && !strings.Contains(failed.Error(), key) {
			t.Errorf("%s: %v", key, failed)
		}
		if _, err := c.DeleteObject(t.Context(), &awss3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
}

// If a Put fails in the middle, no dead letter of a key is stored without the earlier ones of this key. A redrive would
// otherwise deliver the later change first.
func TestPut_FailedLeavesNoLaterLetterOfAKey(t *testing.T) {
	bucket := newBucket(t)
	s := open(t, bucket, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		if op == http.MethodPut && bytes.Contains(body, []byte(`"index":1,`)) {
			return awstest.Answer(r, http.StatusServiceUnavailable, "application/xml", "<Error><Code>SlowDown</Code></Error>"), nil
		}
		return send(body)
	})
	ls := letters(0, 1, 2, 3, 4)
	for i, key := range []item.Key{"a", "a", "a", "b", "a"} {
		ls[i].Sink, ls[i].Key = "crm", key
	}
	if err := s.Put(t.Context(), ls); err == nil {
		t.Fatal("a Put of a letter that cannot be stored succeeded")
	}
	if got := read(t, open(t, bucket, nil)); got != "0 3" {
		t.Errorf("letters %s, want 0 3: the first of a, and that of b", got)
	}
}
