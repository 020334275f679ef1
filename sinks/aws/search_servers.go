package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// Search connects to the sink's server. It also creates the sink's index, unless the index is created on demand.
func (b *Bundle) Search(ctx context.Context, cfg *config.Config, s config.Sink) (search.Store, error) {
	o, err := b.searchOptions(cfg, s)
	if err != nil {
		return nil, err
	}
	if o.Indexes.WroteDocuments, err = b.hasWritten(ctx, cfg, s); err != nil {
		return nil, err
	}
	return openstores.Open(b.opened, "search "+s.Name, func() (search.Store, error) {
		store, err := opensearch.New(o)
		if err != nil || b.lookOnly {
			return store, err
		}
		if err := store.Open(ctx); err != nil {
			return nil, errors.Join(err, store.Close())
		}
		return store, nil
	})
}

// searchOptions returns the options of the sink's store that follow from the file. The options that follow from the
// state are not set.
func (b *Bundle) searchOptions(cfg *config.Config, s config.Sink) (opensearch.Options, error) {
	o, err := b.connection(cfg, s.Search.Connection)
	if err != nil {
		return o, err
	}
	if s.Search.Fast {
		o.Mode = opensearch.Fast
	}
	o.Indexes = &opensearch.Indexes{
		Pipeline: cfg.Name, Sink: s.Name, Name: s.Search.Index, Mapping: s.Search.Mapping, Fields: sinks.Fields(s.Search),
		Attributes: cfg.Attributes,
		OnDemand:   s.Search.OnDemand, MaxIndexes: s.Search.MaxIndexes,
	}
	return o, nil
}

// connection returns the options of the named connection.
func (b *Bundle) connection(cfg *config.Config, name string) (opensearch.Options, error) {
	if name == "" {
		return opensearch.Options{}, errors.New("no server is named: add connection: NAME, one of connections")
	}
	for _, c := range cfg.Connections {
		if c.Name != name {
			continue
		}
		o := opensearch.Options{URL: c.OpenSearch, Auth: opensearch.Auth(c.Auth), User: c.User, Password: c.Password,
			CA: c.CA}
		if o.Auth != opensearch.SigV4 {
			return o, nil
		}
		o.Region, o.Credentials = cmp.Or(c.Region, b.sdk.Region), b.sdk.Credentials
		if c.AssumeRole != "" {
			o.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(b.sdk), c.AssumeRole))
		}
		return o, nil
	}
	return opensearch.Options{}, fmt.Errorf("no connection is named %q", name)
}
