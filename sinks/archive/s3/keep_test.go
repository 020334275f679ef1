package s3_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/server"
)

// The store sets the storage class, the tags, the content type and the encryption key of each object, also of objects
// that it uploads in parts.
func TestWhatAnObjectIsKeptAs(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.Moto().Endpoint(t), nil)
	bucket := newBucket(t, client)
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234"
	s := open(t, s3.Options{Client: client, Bucket: bucket, StorageClass: "STANDARD_IA", KMSKey: key, PartBytes: 5 << 20})
	tags := []archive.Tag{{Key: "tenant", Value: "a b=3D:ü"}, {Key: "kind", Value: "order"}}
	for name, size := range map[string]int{"whole": 10, "parts": 6 << 20} {
		if err := s.Put(t.Context(), archive.Object{Name: name, Body: make([]byte, size), ContentType: "application/zstd", Tags: tags}); err != nil {
			t.Fatal(err)
		}
		head, err := client.HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: &bucket, Key: &name})
		if err != nil {
			t.Fatal(err)
		}
		if head.StorageClass != types.StorageClassStandardIa || aws.ToString(head.ContentType) != "application/zstd" ||
			head.ServerSideEncryption != types.ServerSideEncryptionAwsKms || aws.ToString(head.SSEKMSKeyId) != key {
			t.Errorf("%s is kept as %s, %s, %s by %s", name, head.StorageClass, aws.ToString(head.ContentType), head.ServerSideEncryption, aws.ToString(head.SSEKMSKeyId))
		}
		got, err := s.Tags(t.Context(), name)
		if want := []archive.Tag{tags[1], tags[0]}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s has the tags %q (%v), want %q", name, got, err, want)
		}
	}
	for info, err := range s.List(t.Context(), "") {
		if err != nil || info.Class != "STANDARD_IA" || info.Modified.IsZero() || info.Size != map[string]int64{"whole": 10, "parts": 6 << 20}[info.Name] {
			t.Errorf("listed as %+v (%v)", info, err)
		}
	}
}

// The error of reading an object in GLACIER contains the command that restores the object. After the restore, the
// object can be read.
func TestGlacier(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.Moto().Endpoint(t), nil)
	bucket := newBucket(t, client)
	s := open(t, s3.Options{Client: client, Bucket: bucket, StorageClass: "GLACIER"})
	name := "deleted/it's/1.json"
	put(t, s, name, "frozen")
	_, err := s.Get(t.Context(), name)
	frozen, ok := errors.AsType[*archive.FrozenError](err)
	if !ok || len(frozen.Objects) != 1 {
		t.Fatalf("error %v", err)
	}
	want := archive.Frozen{Name: name, Class: "GLACIER", Restore: "aws s3api restore-object --bucket " + bucket +
		` --key 'deleted/it'\''s/1.json' --restore-request '{"Days":7,"GlacierJobParameters":{"Tier":"Standard"}}'`}
	if frozen.Objects[0] != want || !strings.Contains(err.Error(), want.Restore) {
		t.Errorf("got  %+v\nwant %+v\nin %v", frozen.Objects[0], want, err)
	}
	if _, _, err := s.GetRange(t.Context(), name, 0, 3); err == nil {
		t.Error("a part of it is read")
	}
	_, err = client.RestoreObject(t.Context(), &awss3.RestoreObjectInput{Bucket: &bucket, Key: &name, RestoreRequest: &types.RestoreRequest{
		Days: aws.Int32(7), GlacierJobParameters: &types.GlacierJobParameters{Tier: types.TierStandard},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, name); got != "frozen" {
		t.Errorf("restored it holds %q", got)
	}
}

// If a change is delivered again, the sink recognizes its object, even if the object is in GLACIER and cannot be read.
// An object of another change with the same name is an error.
func TestGlacierMeetsARedelivery(t *testing.T) {
	t.Parallel()
	client := clientOf(t, server.Moto().Endpoint(t), nil)
	s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client), StorageClass: "GLACIER"})
	key, err := template.Parse("deleted/{Type}/{@version}.json", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := archive.New(archive.Options{Store: s, Layout: archive.PerItem, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	write := func(pk string) error {
		d := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines([]byte(
			`{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"` + pk + `"}}}}`))
		ds := []pipeline.Delivery{{Change: &d.Changes[0]}}
		if err := sink.Plan(&ds[0]); err != nil {
			t.Fatal(err)
		}
		return sink.Write(t.Context(), ds)
	}
	for range 2 {
		if err := write("a"); err != nil {
			t.Errorf("the same change: %v", err)
		}
	}
	if err := write("b"); err == nil || !strings.Contains(err.Error(), "{@version}") {
		t.Errorf("another change of the same name: %v", err)
	}
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	for server, endpoint := range servers(t) {
		t.Run(server, func(t *testing.T) {
			_, client, bucket := fresh(t, endpoint)
			s := open(t, s3.Options{Client: client, Bucket: bucket, Folder: "changes/"})
			if _, ok, err := s.Fingerprint(t.Context(), "shop", "history"); ok || err != nil {
				t.Errorf("there is one at the start (%v)", err)
			}
			for generation := range 2 {
				want := state.Fingerprint{Pipeline: "shop", Sink: "history", Generation: generation + 1, Settings: map[string]string{"archive.prefix": "changes/"}}
				if err := s.SetFingerprint(t.Context(), want); err != nil {
					t.Fatal(err)
				}
				got, ok, err := open(t, s3.Options{Client: client, Bucket: bucket, Folder: "changes/"}).Fingerprint(t.Context(), "shop", "history")
				if !ok || err != nil || got.Generation != want.Generation || len(got.Changed(want)) > 0 {
					t.Errorf("read back %+v, %v (%v)", got, ok, err)
				}
			}
			if got := names(t, s, ""); len(got) > 0 {
				t.Errorf("it is listed as an object: %q", got)
			}
		})
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	for name, endpoint := range servers(t) {
		t.Run(name, func(t *testing.T) {
			client := clientOf(t, endpoint, nil)
			bucket := newBucket(t, client) + "-more"
			for range 2 {
				s := open(t, s3.Options{Client: client, Bucket: bucket})
				if err := s.Create(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			put(t, open(t, s3.Options{Client: client, Bucket: bucket}), "a.json", "x")
			if name == "moto" {
				rules, err := client.GetBucketLifecycleConfiguration(t.Context(), &awss3.GetBucketLifecycleConfigurationInput{Bucket: &bucket})
				if err != nil || len(rules.Rules) != 1 || rules.Rules[0].AbortIncompleteMultipartUpload == nil {
					t.Errorf("lifecycle %+v (%v)", rules, err)
				}
			}
			expiring := bucket + "-expiring"
			if err := open(t, s3.Options{Client: client, Bucket: expiring}).CreateExpiring(t.Context(), 30*24*time.Hour-time.Second); err != nil {
				t.Fatal(err)
			}
			if name == "moto" {
				rules, err := client.GetBucketLifecycleConfiguration(t.Context(), &awss3.GetBucketLifecycleConfigurationInput{Bucket: &expiring})
				if err != nil || len(rules.Rules) != 2 || *rules.Rules[1].Expiration.Days != 30 || rules.Rules[1].NoncurrentVersionExpiration == nil {
					t.Errorf("lifecycle %+v (%v)", rules, err)
				}
			}
		})
	}
}
