package replay_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/test/server"
)

const shopConfig = "../../../test/fixtures/shop/tablewake.yaml"

// inBucket copies the archive of a --local folder into a new bucket of a server, and names the server in the
// environment.
func inBucket(t *testing.T, endpoint, dir, class string) (bucket string, client *awss3.Client) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_REGION", server.Region)
	client = awss3.New(awss3.Options{
		BaseEndpoint: &endpoint, Region: server.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	bucket = "cli-" + strings.ToLower(rand.Text())
	if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	from, err := archivedir.New(archivedir.Options{Dir: local.Dir(dir).Archive("shop-archive")})
	if err != nil {
		t.Fatal(err)
	}
	to, err := s3.New(s3.Options{Client: client, Bucket: bucket, StorageClass: class})
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range from.List(t.Context(), "changes/") {
		if err != nil {
			t.Fatal(err)
		}
		in, err := from.Get(t.Context(), info.Name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		if err := to.Put(t.Context(), archive.Object{Name: info.Name, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	return bucket, client
}

// births matches the birth in a document, which differs from folder to folder.
var births = regexp.MustCompile(`"birth":"[0-9a-z]+"`)

// stands returns what a --local folder holds: rows, groups, documents and changes.
func stands(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, query := range [][]string{{"view", "shop-views"}, {"search", "products"}, {"archive", "shop-archive", "--prefix", "changes/"}} {
		out, _ := program.Run(t, cli.ExitOK, append(append([]string{"query"}, query...), "--local", dir, "-o", "json")...)
		all.WriteString(births.ReplaceAllString(out, ""))
	}
	return all.String()
}

// An archive in S3 replays like the stream that it came from, before and after the archive is compacted.
func TestReplayFromS3(t *testing.T) {
	stream := filepath.Join("../../../test/fixtures/shop", "stream.jsonl")
	first := filepath.Join(t.TempDir(), "first")
	program.Run(t, cli.ExitOK, "replay", "-c", shopConfig, "--local", first, stream)
	want := stands(t, first)
	bucket, _ := inBucket(t, server.S3().Endpoint(t), first, "")
	url := "s3://" + bucket + "/changes/"
	for i, step := range []func(){
		func() {},
		func() {
			out, _ := program.Run(t, cli.ExitOK, "compact", url, "--dry-run")
			if !strings.HasPrefix(out, "would roll ") {
				t.Errorf("a dry run prints %s", out)
			}
			out, _ = program.Run(t, cli.ExitOK, "compact", url, "-o", "json")
			var done struct {
				DryRun bool `json:"dry_run"`
			}
			if err := json.Unmarshal([]byte(out), &done); err != nil || done.DryRun {
				t.Errorf("compacted %s (%v)", out, err)
			}
		},
	} {
		step()
		dir := filepath.Join(t.TempDir(), "again")
		program.Run(t, cli.ExitOK, "replay", "-c", shopConfig, "--local", dir, url)
		if got := stands(t, dir); got != want {
			t.Errorf("step %d: there stands\n%.2000s\nwant\n%.2000s", i, got, want)
		}
		_, errs := program.Run(t, cli.ExitFailure, "replay", "-c", shopConfig, "--local", dir, "--fresh", "s3://"+bucket+"/none/")
		if !strings.Contains(errs, dir+" is not emptied: ") || stands(t, dir) != want {
			t.Errorf("step %d: --fresh from an empty prefix says %s", i, errs)
		}
		program.Run(t, cli.ExitOK, "replay", "-c", shopConfig, "--local", dir, "--fresh", url)
		if got := stands(t, dir); got != want {
			t.Errorf("step %d: after --fresh there stands\n%.2000s\nwant\n%.2000s", i, got, want)
		}
	}

	read := func(args ...string) int64 {
		t.Helper()
		out, _ := program.Run(t, cli.ExitOK, append([]string{"replay", "-c", shopConfig, "--local", filepath.Join(t.TempDir(), "part"), "-o", "json"}, args...)...)
		var sum struct {
			Ledger struct{ Source struct{ Read int64 } }
		}
		if err := json.Unmarshal([]byte(out), &sum); err != nil {
			t.Fatal(err)
		}
		return sum.Ledger.Source.Read
	}
	all := read(url)
	none, before := read(url, "--to", "2026-11-21T09:53:00Z"), read(url, "--from", "2020-01-01", "--to", "2026-11-21T09:53:01Z") // all changes have the same time
	if all == 0 || none != 0 || before != all {
		t.Errorf("of %d changes %d are before their time, and %d in it", all, none, before)
	}
	if both := read(stream, url); both < 2*all {
		t.Errorf("a file and an archive of %d changes bring %d", all, both)
	}

	_, errs := program.Run(t, cli.ExitFailure, "replay", "-c", shopConfig, "--local", t.TempDir(), "s3://"+bucket+"-none/x/")
	if !strings.Contains(errs, "NoSuchBucket") || !strings.Contains(errs, "check the bucket's name") {
		t.Errorf("of a bucket that is not there: %s", errs)
	}
	for _, args := range [][]string{
		{url, "--from", "noon"},
		{url, "--from", "2026-02-01", "--to", "2026-01-01"},
		{stream, "--from", "2026-02-01"},
		{"s3:///x"},
	} {
		program.Run(t, cli.ExitUsage, append([]string{"replay", "-c", shopConfig, "--local", t.TempDir()}, args...)...)
	}
	for _, args := range [][]string{{}, {url, "--target", "1X"}, {url, "--min-bytes", "2MB", "--target", "1MiB"}, {"s3:///x"}} {
		program.Run(t, cli.ExitUsage, append([]string{"compact"}, args...)...)
	}
}

// If an object is in GLACIER, the error names the command that restores the object.
func TestReplayFromGlacier(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	program.Run(t, cli.ExitOK, "replay", "-c", shopConfig, "--local", first, "../../../test/fixtures/shop/stream.jsonl")
	bucket, client := inBucket(t, server.Moto().Endpoint(t), first, "GLACIER")
	archive := "s3://" + bucket + "/changes/"
	_, errs := program.Run(t, cli.ExitFailure, "replay", "-c", shopConfig, "--local", t.TempDir(), archive)
	_, freshErrs := program.Run(t, cli.ExitFailure, "replay", "-c", shopConfig, "--local", first, "--fresh", archive)
	list, err := client.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("changes/")})
	if err != nil {
		t.Fatal(err)
	}
	restore := "aws s3api restore-object --bucket " + bucket + " --key "
	if n := len(list.Contents); n == 0 || strings.Count(errs, restore) != n || strings.Count(freshErrs, restore) != n {
		t.Errorf("%d objects, and the errors are %s%s", len(list.Contents), errs, freshErrs)
	}
}
