package main

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tablewake/tablewake/test/server"
)

// servers are the servers that the sinks write to.
type servers struct {
	dynamodb, opensearch, s3 string // endpoints
	started                  []*server.Node
}

// start starts each server that the environment does not name.
func (s *servers) start(ctx context.Context) error {
	for _, w := range []struct {
		kind     *server.Kind
		endpoint *string
	}{{server.DynamoDB(), &s.dynamodb}, {server.OpenSearch(), &s.opensearch}, {server.S3(), &s.s3}} {
		if *w.endpoint = os.Getenv(w.kind.Env); *w.endpoint != "" {
			continue
		}
		n, err := w.kind.Start(ctx)
		if err != nil {
			return err
		}
		s.started = append(s.started, n)
		*w.endpoint = n.Endpoint()
	}
	return nil
}

func (s *servers) close() {
	for _, n := range s.started {
		_ = n.Close()
	}
}

// sdk returns the configuration of the SDK for a server.
func (s *servers) sdk(endpoint string) aws.Config {
	return aws.Config{
		Region:       server.Region,
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
		// Requests carry checksums, as with LoadDefaultConfig.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
}
