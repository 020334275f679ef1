package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// functionSettleTime is how long a function and its event source mapping must be unchanged. After that time, no
// invocation from before the change still runs. An invocation takes 15 minutes at most, and the timeout before the
// change is unknown. After a change of a mapping, polling begins within minutes (API reference,
// CreateEventSourceMapping).
const functionSettleTime = 15 * time.Minute

// lambdaAPI has the methods of *lambda.Client that find the readers of a stream.
type lambdaAPI interface {
	lambda.ListEventSourceMappingsAPIClient
	GetFunctionConfiguration(ctx context.Context, in *lambda.GetFunctionConfigurationInput,
		o ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	GetEventSourceMapping(ctx context.Context, in *lambda.GetEventSourceMappingInput,
		o ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
}

var _ lambdaAPI = (*lambda.Client)(nil)

// FunctionFlags are --function and --deployed-since. They show since when the functions that read the stream have used
// the present configuration file.
type FunctionFlags struct {
	functions     []string
	deployedSince string
}

// Add adds the flags. when begins their help texts and says when they are needed, such as "where Lambda reads the
// stream".
func (f *FunctionFlags) Add(c *cobra.Command, when string) {
	c.Flags().StringSliceVar(&f.functions, "function", nil,
		when+": name or ARN of each function of this pipeline, to check since when they and their mappings are unchanged")
	c.Flags().StringVar(&f.deployedSince, "deployed-since", "",
		"instead of --function: time since which the function, its mapping and its filters match this file")
}

// Check returns an error if both flags are given.
func (f *FunctionFlags) Check() error {
	if len(f.functions) > 0 && f.deployedSince != "" {
		return cli.Usagef("--function finds out what --deployed-since says: leave one out")
	}
	return nil
}

// IsGiven reports whether one of the flags is given.
func (f *FunctionFlags) IsGiven() bool { return len(f.functions) > 0 || f.deployedSince != "" }

// CheckUnchanged returns an error if an invocation with other settings than those of cfg may still run. With --function
// it reads from Lambda when the functions and their event source mappings were changed. With --deployed-since it uses
// the given time. Without both flags it returns an error. It prints its findings to w.
func (f *FunctionFlags) CheckUnchanged(ctx context.Context, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	if !f.IsGiven() {
		return cli.Usagef(
			"%s has no leases, so a Lambda function reads the stream: name it with --function, and every other function of this pipeline; or say with --deployed-since TIME since when the function, its mapping and its filter criteria are those of this file", cfg.File)
	}
	if len(f.functions) == 0 {
		since, err := time.Parse(time.RFC3339, f.deployedSince)
		if err != nil {
			return cli.Usagef("--deployed-since %q is not a time: write it as 2026-01-31T12:00:00Z", f.deployedSince)
		}
		return checkSettled("--deployed-since", since, time.Now())
	}

	streams, err := sourceStreams(ctx, sdk, cfg)
	if err != nil {
		return err
	}
	p := functionProof{api: lambda.NewFromConfig(sdk), cfg: cfg, streams: streams, out: w}
	since, err := p.unchangedSince(ctx, f.functions)
	if err != nil {
		return err
	}
	return checkSettled("the function or its mapping was changed at", since, time.Now())
}

// checkSettled returns an error if an invocation that began before since may still run.
func checkSettled(label string, since, now time.Time) error {
	if now.Sub(since) >= functionSettleTime {
		return nil
	}
	return cli.Usagef("%s %s: an invocation that began before may still run: repeat the command at %s or later",
		label, since.UTC().Format(time.RFC3339), since.Add(functionSettleTime+time.Second).UTC().Format(time.RFC3339))
}

// sourceStreams returns the ARNs of the streams that the event source mappings read.
func sourceStreams(ctx context.Context, sdk awssdk.Config, cfg *config.Config) ([]string, error) {
	if cfg.Source.Kinesis != "" {
		return []string{cfg.Source.Kinesis}, nil
	}
	refs, err := stream.NewestStreams(ctx, stream.OpenRateLimited(sdk, cfg, 2), cfg)
	if err != nil {
		return nil, err
	}
	arns := make([]string, len(refs))
	for i, r := range refs {
		arns[i] = r.ARN
	}
	return arns, nil
}

// functionProof finds the time since which functions and their event source mappings are unchanged.
type functionProof struct {
	api     lambdaAPI
	cfg     *config.Config
	streams []string // ARNs of the streams; each needs a mapping
	out     io.Writer

	names     []string          // names of the functions, as they were given
	functions map[string]string // names by ARN without qualifier
	since     time.Time         // time of the latest change that was found
}

// unchangedSince returns the time of the last change of the functions and of the mappings from the streams to them. It
// returns an error if one of the streams has no such mapping, or if a mapping may drop records that this file needs.
func (p *functionProof) unchangedSince(ctx context.Context, names []string) (time.Time, error) {
	p.names, p.functions = names, make(map[string]string, len(names))
	for _, name := range names {
		arn, err := p.checkFunction(ctx, name, "")
		if err != nil {
			return p.since, err
		}
		base, _ := splitQualifier(arn)
		p.functions[base] = name
	}
	var others []string
	for _, arn := range p.streams {
		otherFunctions, err := p.checkStream(ctx, arn)
		if err != nil {
			return p.since, err
		}
		others = append(others, otherFunctions...)
	}
	slices.Sort(others)
	others = slices.Compact(others)
	if len(others) > 0 {
		fmt.Fprintf(p.out, cli.Warning+
			"these functions read the stream too: %s; if they belong to this pipeline, name them with --function\n",
			strings.Join(others, ", "))
	}
	fmt.Fprintf(p.out,
		"unchanged since %s: %s, with event source mappings of this file's filter criteria; that their configuration file is %s is taken on trust\n",
		p.since.UTC().Format(time.RFC3339), strings.Join(names, ", "), p.cfg.File)
	return p.since, nil
}

// noteChange notes the time of a change of a function or a mapping.
func (p *functionProof) noteChange(at time.Time) {
	if at.After(p.since) {
		p.since = at
	}
}

// checkFunction notes the time of a function's last change, and returns its ARN. version is "" if name itself may end
// with a qualifier. A qualifier is a version or an alias.
func (p *functionProof) checkFunction(ctx context.Context, name, version string) (arn string, err error) {
	in := &lambda.GetFunctionConfigurationInput{FunctionName: &name}
	if version != "" {
		in.Qualifier = &version
	}
	f, err := p.api.GetFunctionConfiguration(ctx, in)
	if err != nil {
		return "", callError(ctx, "GetFunctionConfiguration of "+name, "lambda:GetFunctionConfiguration on the function", err)
	}
	switch f.LastUpdateStatus {
	case types.LastUpdateStatusInProgress:
		return "", fmt.Errorf("the function %s is being updated: repeat the command when that has ended", name)
	case types.LastUpdateStatusFailed:
		return "", fmt.Errorf(
			"the last update of the function %s failed (%s), so that it may run what it had before: deploy it again, and repeat the command", name, f.LastUpdateStatusReasonCode)
	}
	changed, err := parseFunctionTime(awssdk.ToString(f.LastModified))
	if err != nil {
		return "", fmt.Errorf("the function %s: %w", name, err)
	}
	p.noteChange(changed)
	return awssdk.ToString(f.FunctionArn), nil
}

// checkStream notes the last changes of the mappings from a stream to the functions. It returns the other functions
// that read the stream. It returns an error if no mapping sends the stream to the functions.
func (p *functionProof) checkStream(ctx context.Context, arn string) (others []string, err error) {
	mappings, err := p.listMappings(ctx, arn)
	if err != nil {
		return nil, err
	}
	isRead := false
	for i := range mappings {
		base, qualifier := splitQualifier(awssdk.ToString(mappings[i].FunctionArn))
		name, isNamed := p.functions[base]
		if !isNamed {
			others = append(others, base)
			continue
		}
		if err := p.checkMapping(ctx, &mappings[i], name, qualifier); err != nil {
			return nil, err
		}
		isRead = true
	}
	if !isRead {
		return nil, fmt.Errorf(
			"no event source mapping sends the records of %s to %s: name the function that reads it with --function, or create the mapping", arn, strings.Join(p.names, " or "))
	}
	return others, nil
}

// listMappings returns the event source mappings of a stream.
func (p *functionProof) listMappings(
	ctx context.Context, arn string,
) (mappings []types.EventSourceMappingConfiguration, err error) {
	pages := lambda.NewListEventSourceMappingsPaginator(p.api, &lambda.ListEventSourceMappingsInput{EventSourceArn: &arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, callError(ctx, "ListEventSourceMappings of "+arn, "lambda:ListEventSourceMappings on *", err)
		}
		mappings = append(mappings, page.EventSourceMappings...)
	}
	return mappings, nil
}

// checkMapping notes the last change of a mapping, and of the function version that the mapping invokes. It returns an
// error if the mapping is not enabled, may drop needed records, or invokes an alias.
func (p *functionProof) checkMapping(
	ctx context.Context, m *types.EventSourceMappingConfiguration, name, qualifier string,
) error {
	id := awssdk.ToString(m.UUID)
	if state := awssdk.ToString(m.State); state != "Enabled" {
		return fmt.Errorf(
			"the event source mapping %s of the function %s is %s: enable it, or delete it if it is not used, and repeat the command", id, name, state)
	}
	if m.LastModified == nil {
		return fmt.Errorf("Lambda does not say when the event source mapping %s was changed: use --deployed-since", id)
	}
	criteria, err := p.filterCriteria(ctx, m)
	if err != nil {
		return err
	}
	passed, err := passNeededRecords(p.cfg, criteria)
	if err != nil {
		return err
	}
	if !passed {
		return fmt.Errorf(
			"the filter criteria of the event source mapping %s of the function %s are not those of %s, so that Lambda may drop records that a sink needs: set those that `tablewake template -c %s -o filters` prints, and repeat the command",
			id, name, p.cfg.File, p.cfg.File)
	}
	p.noteChange(*m.LastModified)
	return p.checkQualifier(ctx, id, name, qualifier)
}

// checkQualifier notes the last change of the version of a function that the mapping id invokes. It returns an error if
// the mapping invokes an alias. A qualifier is a version or an alias.
func (p *functionProof) checkQualifier(ctx context.Context, id, name, qualifier string) error {
	isVersion := strings.Trim(qualifier, "0123456789") == ""
	switch {
	case qualifier == "" || qualifier == "$LATEST":
		return nil // unchangedSince has checked the function
	case isVersion:
		_, err := p.checkFunction(ctx, name, qualifier)
		return err
	}
	return fmt.Errorf(
		"the event source mapping %s invokes the alias %s of the function %s, and Lambda does not say since when an alias has its version: use --deployed-since instead of --function", id, qualifier, name)
}

// filterCriteria returns the filter criteria of a mapping. It reads encrypted criteria with a separate call, because a
// list of mappings does not show them.
func (p *functionProof) filterCriteria(
	ctx context.Context, m *types.EventSourceMappingConfiguration,
) (*types.FilterCriteria, error) {
	if awssdk.ToString(m.KMSKeyArn) == "" {
		return m.FilterCriteria, nil
	}
	id := awssdk.ToString(m.UUID)
	decrypted, err := p.api.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: m.UUID})
	if err != nil {
		return nil, callError(ctx, "GetEventSourceMapping of "+id,
			"lambda:GetEventSourceMapping, and kms:Decrypt on the mapping's key", err)
	}
	if decrypted.FilterCriteriaError != nil {
		return nil, fmt.Errorf(
			"the filter criteria of the event source mapping %s cannot be decrypted: %s: allow kms:Decrypt on %s, or use --deployed-since", id, awssdk.ToString(decrypted.FilterCriteriaError.ErrorCode), awssdk.ToString(m.KMSKeyArn))
	}
	return decrypted.FilterCriteria, nil
}

// passNeededRecords reports whether filter criteria pass each record that the sinks of cfg need. Absent criteria pass
// everything. Other criteria pass them only if `tablewake template` prints exactly these criteria, with any values of
// its flags.
func passNeededRecords(cfg *config.Config, criteria *types.FilterCriteria) (bool, error) {
	if criteria == nil || len(criteria.Filters) == 0 {
		return true, nil
	}
	var patterns []string
	for _, f := range criteria.Filters {
		patterns = append(patterns, awssdk.ToString(f.Pattern))
	}
	present := canonicalPatterns(patterns)
	for limit := 1; limit <= pushdown.MaxLimit; limit++ {
		for _, matchUserIdentity := range []bool{false, true} {
			plan, err := pushdown.New(cfg, pushdown.Options{MatchUserIdentity: matchUserIdentity, Limit: limit})
			if err != nil {
				return false, err
			}
			if slices.Equal(present, canonicalPatterns(plan.Patterns)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// canonicalPatterns returns the patterns in one form, to compare them: sorted, without blanks, and with sorted names.
// It does not change patterns that are not JSON.
func canonicalPatterns(patterns []string) []string {
	canonical := slices.Clone(patterns)
	for i, pattern := range patterns {
		decoder := json.NewDecoder(strings.NewReader(pattern))
		decoder.UseNumber()
		var v any
		if decoder.Decode(&v) != nil {
			continue
		}
		if b, err := json.Marshal(v); err == nil {
			canonical[i] = string(b)
		}
	}
	slices.Sort(canonical)
	return canonical
}

// splitQualifier splits the ARN of a function into the ARN without its qualifier, and the qualifier. A qualifier is a
// version or an alias; it is "" if arn has none.
func splitQualifier(arn string) (base, qualifier string) {
	parts := strings.SplitN(arn, ":", 8) // arn:aws:lambda:REGION:ACCOUNT:function:NAME:QUALIFIER
	if len(parts) < 8 {
		return arn, ""
	}
	return strings.Join(parts[:7], ":"), parts[7]
}

// parseFunctionTime parses the LastModified of a function, 2026-01-31T12:00:00.000+0000.
func parseFunctionTime(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05Z0700", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("its LastModified is %q, which is not a time: use --deployed-since", text)
}

func callError(ctx context.Context, op, right string, err error) error {
	return awserr.CallError(ctx, op, err, map[awserr.Kind]string{
		awserr.Denied:  "allow " + right + ", or use --deployed-since",
		awserr.Missing: "check name, Region and account",
	})
}
