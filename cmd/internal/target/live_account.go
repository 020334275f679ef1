package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/sinks/aws"
)

// openLive prints the names of the real stores of cfg to w, and opens the stores. If cfg.NotLive has problems, such as
// a secret in the file, openLive returns them as the error. tel may be nil.
func openLive(
	ctx context.Context, cfg *config.Config, w io.Writer, tel *telemetry.Telemetry, opts ...aws.Option,
) (*Stores, error) {
	if len(cfg.NotLive) > 0 {
		return nil, cli.WithExitCode(cli.ExitConfig, cfg.NotLive)
	}
	sdk, err := LoadAWSWithTelemetry(ctx, tel)
	if err != nil {
		return nil, err
	}
	Announce(ctx, sdk, cfg, w)
	return LiveStores(sdk, opts...), nil
}

// LiveStores returns the real stores of the account of sdk.
func LiveStores(sdk awssdk.Config, opts ...aws.Option) *Stores {
	opened := aws.Stores(sdk, opts...)
	return &Stores{opened, Closers{opened.Close}}
}

// LoadAWS returns the configuration of the AWS SDK from the standard environment variables and files.
func LoadAWS(ctx context.Context) (awssdk.Config, error) {
	// Without this logger the SDK logs each connection that it retries.
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
	switch {
	case err != nil:
		return sdk, fmt.Errorf("AWS configuration: %w", err)
	case sdk.Region == "":
		return sdk, errors.New("no AWS Region is set: export AWS_REGION, or choose a profile with AWS_PROFILE")
	}
	return sdk, checkCredentials(ctx, sdk)
}

// checkCredentials returns an error if there are no credentials. Without this check every call would fail, and each
// with a different text. checkCredentials ignores other errors of the credentials, because a server of credentials may
// answer later.
func checkCredentials(ctx context.Context, sdk awssdk.Config) error {
	if sdk.Credentials == nil {
		return nil
	}
	_, err := sdk.Credentials.Retrieve(ctx)
	if err != nil && ctx.Err() == nil && isNoCredentials(err) {
		return errNoCredentials
	}
	return nil // the calls report other errors of the credentials
}

// isNoCredentials reports whether an error of the SDK means that there are no credentials at all. The SDK looks for
// credentials in the instance metadata last. So if it finds none anywhere, its error is about the metadata.
func isNoCredentials(err error) bool {
	status := awserr.Status(err)
	return strings.Contains(err.Error(), "no EC2 IMDS role found") && status < 500 && status != http.StatusTooManyRequests
}

var errNoCredentials = errors.New(
	"no AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// Announce prints the account, the Region and the stores of cfg to w.
func Announce(ctx context.Context, sdk awssdk.Config, cfg *config.Config, w io.Writer) {
	fmt.Fprintf(w, "account %s, Region %s\n", AccountID(ctx, sdk), sdk.Region)
	AnnounceStores(cfg, w)
}

// AccountID returns the account of sdk's credentials. If STS does not answer, it returns a text that begins with
// "unknown". It returns no error, because the stores may be usable without the right to call STS.
func AccountID(ctx context.Context, sdk awssdk.Config) string {
	id, err := Caller(ctx, sdk, 5*time.Second)
	if err != nil {
		return "unknown (sts:GetCallerIdentity does not answer)"
	}
	return awssdk.ToString(id.Account)
}

// Caller asks STS for the identity that sdk's credentials belong to. It waits maxWait at most.
func Caller(ctx context.Context, sdk awssdk.Config, maxWait time.Duration) (*sts.GetCallerIdentityOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	client := sts.NewFromConfig(sdk, func(o *sts.Options) { o.RetryMaxAttempts = 1 })
	return client.GetCallerIdentity(ctx, nil)
}

// AnnounceStores prints the stores of cfg to w.
func AnnounceStores(cfg *config.Config, w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range cfg.Sinks {
		fmt.Fprintf(tw, "  %s\t%s\n", s.Name, Destination(cfg, s))
	}
	if cfg.State != nil {
		fmt.Fprintf(tw, "  state\ttable %s\n", cfg.State.Table.Name)
	}
	if cfg.DeadLetters != nil {
		fmt.Fprintf(tw, "  dead letters\t%s\n", letterStore(cfg.DeadLetters))
	}
	_ = tw.Flush()
}

// letterStore describes the store of dead letters, such as "bucket shop-letters dead/".
func letterStore(d *config.DeadLetters) string {
	switch {
	case d.Queue != "":
		return "queue " + d.Queue
	case d.Bucket != "":
		return strings.TrimSpace("bucket " + d.Bucket + " " + d.Prefix)
	}
	return "folder " + d.Dir
}

// Destination describes the store of a sink, such as "table shop-views".
func Destination(cfg *config.Config, s config.Sink) string {
	switch {
	case s.View != nil:
		return "table " + s.View.Table.Name
	case s.Aggregate != nil:
		return "table " + s.Aggregate.Table.Name
	case s.Search != nil:
		for _, c := range cfg.Connections {
			if c.Name == s.Search.Connection {
				return "index " + s.Search.Index.String() + " at " + c.OpenSearch
			}
		}
		return "index " + s.Search.Index.String()
	case s.Archive != nil:
		return strings.TrimSpace("bucket " + s.Archive.Bucket + " " + s.Archive.Prefix)
	case s.Notify != nil && s.Notify.Queue != "":
		return "queue " + s.Notify.Queue
	case s.Notify != nil && s.Notify.Topic != "":
		return "topic " + s.Notify.Topic
	case s.Notify != nil:
		return "bus " + s.Notify.Bus
	default:
		return "a Go sink"
	}
}
