package aws

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
	notifyaws "github.com/tablewake/tablewake/sinks/notify/aws"
)

// Archive opens the sink's bucket.
func (b *Bundle) Archive(ctx context.Context, cfg *config.Config, s config.Sink) (archive.Store, error) {
	a := s.Archive
	if a.Bucket == "" {
		return nil, errors.New("no bucket is named: add bucket: NAME")
	}
	hasWritten, err := b.hasWritten(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	// If the state records that the sink wrote to the bucket, a missing bucket is lost, and is not created again.
	mayCreate := b.createMissing && !b.lookOnly && !hasWritten
	return openstores.Open(b.opened, "archive "+s.Name, func() (archive.Store, error) {
		store, err := s3.New(s3.Options{Client: b.s3, Bucket: a.Bucket, Folder: archive.Folder(a.Prefix, a.Key),
			StorageClass: a.StorageClass, KMSKey: a.KMSKey})
		if err != nil || !mayCreate {
			return store, err
		}
		return store, store.Create(ctx)
	})
}

// overflow returns the store for events that are too large for a message. It is in the bucket of the first archive, or
// in the bucket of the dead letters. overflow returns nil if the file has neither bucket.
func (b *Bundle) overflow(cfg *config.Config) (notifyaws.Overflow, error) {
	bucket, dir := sinks.LargeEventFolder(cfg)
	if bucket == "" {
		return nil, nil
	}
	store, err := s3.New(s3.Options{Client: b.s3, Bucket: bucket, Folder: dir})
	if err != nil {
		return nil, err
	}
	return &overflow{store, "s3://" + bucket + "/", dir + archive.Fingerprints + "/"}, nil
}

// overflow puts the data of events beside the objects of an archive.
type overflow struct {
	store  *s3.Store
	bucket string // s3://BUCKET/
	folder string
}

// Put writes the data of an event, unless its object exists. It returns the URI of the object.
func (o *overflow) Put(ctx context.Context, name string, body []byte) (string, error) {
	name = o.folder + name
	err := o.store.Put(ctx, archive.Object{Name: name, Body: body, ContentType: "application/json"})
	if err != nil && !errors.Is(err, archive.ErrExists) {
		return "", err
	}
	return o.bucket + name, nil
}
