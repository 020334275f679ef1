package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/archive"
)

// Put writes one object. If an object of the name exists, it returns archive.ErrExists. The second of two concurrent
// writers gets this error, too.
func (s *Store) Put(ctx context.Context, o archive.Object) error {
	if err := s.checkIfNoneMatch(ctx); err != nil {
		return err
	}
	if int64(len(o.Body)) > s.o.PartBytes {
		return s.putParts(ctx, o)
	}
	return s.writeError(ctx, "PutObject", o.Name, s.putWhole(ctx, o, nil))
}

// Replace implements [archive.Replacer].
func (s *Store) Replace(ctx context.Context, o archive.Object, stored archive.Stored) error {
	if err := s.checkIfMatch(ctx); err != nil {
		return err
	}
	err := s.putWhole(ctx, o, &stored.Tag)
	if awserr.Status(err) == 404 && awserr.Code(err) != "NoSuchBucket" {
		return fmt.Errorf("%s: %w", o.Name, archive.ErrNoObject)
	}
	return s.writeError(ctx, "PutObject", o.Name, err)
}

// putWhole writes an object in one request. replaced is the ETag of the object to replace. If replaced is nil, no
// object of the name may exist.
func (s *Store) putWhole(ctx context.Context, o archive.Object, replaced *string) error {
	in := s.newPutInput(o.Name, o.ContentType, o.Body)
	in.Tagging, in.Metadata = tagging(o.Tags), metadata(o)
	in.StorageClass, in.BucketKeyEnabled = types.StorageClass(s.o.StorageClass), s.bucketKey()
	if replaced != nil {
		in.IfMatch = replaced
	} else {
		in.IfNoneMatch = aws.String("*")
	}
	return s.putObject(ctx, in)
}

// newPutInput returns the settings that all writes of objects share.
func (s *Store) newPutInput(name, contentType string, body []byte) *s3.PutObjectInput {
	return &s3.PutObjectInput{
		Bucket:               &s.o.Bucket,
		Key:                  &name,
		Body:                 bytes.NewReader(body),
		ContentType:          nilIfEmpty(contentType),
		ChecksumCRC32C:       checksum(body),
		ServerSideEncryption: s.encryption(),
		SSEKMSKeyId:          nilIfEmpty(s.o.KMSKey),
	}
}

// putObject sends a request, and returns an error if the answer has no ETag.
func (s *Store) putObject(ctx context.Context, in *s3.PutObjectInput) error {
	out, err := s.client.PutObject(ctx, in)
	if err != nil {
		return err
	}
	return awserr.CheckTagged(out.ETag)
}

// writeError returns the error of a conditional write.
func (s *Store) writeError(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	if exists(err) {
		return fmt.Errorf("%s: %w", name, archive.ErrExists)
	}
	return fmt.Errorf("archive: write %s: %w", name, s.callError(ctx, op, err))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC32C by which the server verifies a body. The SDK's own checksum is not enough, since it
// depends on the client's settings. Over TLS the SDK also sends it after the body, where some servers ignore it.
func checksum(body []byte) *string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli))
	return aws.String(base64.StdEncoding.EncodeToString(sum))
}

// tagging returns tags in the format of the header for tags; nil without tags.
func tagging(tags []archive.Tag) *string {
	if len(tags) == 0 {
		return nil
	}
	v := make(url.Values, len(tags))
	for _, t := range tags {
		v.Set(t.Key, t.Value)
	}
	return aws.String(v.Encode())
}

// The metadata keys of Object.Identity, Object.Item and Object.Version.
const (
	identityKey = "tablewake-of"
	itemKey     = "tablewake-item"
	versionKey  = "tablewake-version"
)

// metadata returns the metadata of an object.
func metadata(o archive.Object) map[string]string {
	m := map[string]string{identityKey: o.Identity, itemKey: o.Item, versionKey: o.Version}
	maps.DeleteFunc(m, func(_, text string) bool { return text == "" })
	return m
}

// Describe implements [archive.Describer] by HeadObject, which works even for objects in GLACIER.
func (s *Store) Describe(ctx context.Context, name string) (archive.Stored, error) {
	in := &s3.HeadObjectInput{Bucket: &s.o.Bucket, Key: &name, ChecksumMode: types.ChecksumModeEnabled}
	head, err := s.client.HeadObject(ctx, in)
	if awserr.Status(err) == 403 { // of an object with a KMS key, only the checksum needs the right kms:Decrypt
		in.ChecksumMode = ""
		head, err = s.client.HeadObject(ctx, in)
	}
	if err != nil {
		return archive.Stored{}, s.readError(ctx, name, err)
	}
	return archive.Stored{
		Identity: head.Metadata[identityKey], Item: head.Metadata[itemKey], Version: head.Metadata[versionKey],
		Size: aws.ToInt64(head.ContentLength), Tag: aws.ToString(head.ETag), CRC32C: parseChecksum(head.ChecksumCRC32C),
	}, nil
}

// parseChecksum returns the CRC32C in the text of checksum. It returns nil if there is none, or if it is a checksum of
// checksums of parts, which ends in the number of parts.
func parseChecksum(text *string) *uint32 {
	sum, err := base64.StdEncoding.DecodeString(aws.ToString(text))
	if err != nil || len(sum) != 4 {
		return nil
	}
	return aws.Uint32(binary.BigEndian.Uint32(sum))
}

func (s *Store) encryption() types.ServerSideEncryption {
	if s.o.KMSKey == "" {
		return ""
	}
	return types.ServerSideEncryptionAwsKms
}

// bucketKey enables bucket keys if a KMS key encrypts objects. S3 then calls KMS once for many objects.
func (s *Store) bucketKey() *bool {
	if s.o.KMSKey == "" {
		return nil
	}
	return aws.Bool(true)
}

func nilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
