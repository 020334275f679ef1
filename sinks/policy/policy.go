// Package policy returns the rights that a pipeline needs in AWS, as IAM statements. A statement is named for the sink
// or the part of the file that needs it. It allows no action that is never called.
//
// Only this package lists the calls of the stores. A test runs every store and records its calls. It fails for a call
// that is not allowed, and for an allowed action that is never called.
package policy

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
)

// Runner is the process that runs a pipeline.
type Runner uint8

// The runners.
const (
	Function Runner = iota // a Lambda function: the event source mapping reads the stream with its role
	Consumer               // `tablewake consume`
	Creator                // the role that creates tables, buckets, queues, topics and buses for --create
	Backfill               // `tablewake backfill`
	Audit                  // `tablewake audit`, without --repair
	Tail                   // `tablewake tail`
)

// Options are the options of a policy.
type Options struct {
	Runner Runner

	// Redrive adds the rights to read and remove dead letters. These rights are always added if the file says redrive:
	// auto.
	Redrive bool

	// Purge adds the right to purge a state table without TTL. The right allows a Scan, which reads the rows of all
	// pipelines.
	Purge bool

	// Partition, Region and Account are parts of ARNs. Suffix is the end of service names. Default: aws, REGION,
	// ACCOUNT, and amazonaws.com, or amazonaws.com.cn in the partition aws-cn.
	Partition, Region, Account, Suffix string

	// Names replaces the names of tables, buckets, queues and buses in ARNs. The new names may be references to
	// resources of a template. Pipeline replaces the name of the pipeline. Default: the names of the file.
	Names    map[string]string
	Pipeline string
}

// Statements returns the statements that a configuration needs. For a runner that runs the pipeline, they are in this
// order: the source, the sinks in the order of the file, the state, and the dead letters.
func Statements(cfg *config.Config, o Options) []Statement {
	o.Partition = cmp.Or(o.Partition, "aws")
	o.Region = cmp.Or(o.Region, "REGION")
	o.Account = cmp.Or(o.Account, "ACCOUNT")
	if o.Suffix == "" && o.Partition == "aws-cn" {
		o.Suffix = "amazonaws.com.cn"
	}
	o.Suffix = cmp.Or(o.Suffix, "amazonaws.com")
	o.Redrive = o.Redrive || cfg.DeadLetters != nil && cfg.DeadLetters.AutoRedrive
	w := writer{options: o, cfg: cfg}
	switch o.Runner {
	case Creator:
		w.allowCreate()
	case Audit:
		w.allowAudit()
	case Tail:
		w.allowTail()
	default:
		w.allowSource()
		for _, s := range cfg.Sinks {
			w.allowSink(s)
		}
		w.allowState()
		w.allowDeadLetters()
		w.allowRepair()
	}
	return w.statements
}

// writer collects statements.
type writer struct {
	options    Options
	cfg        *config.Config
	statements []Statement
}

// allow adds a statement. Without resources it adds nothing.
func (w *writer) allow(sid, why string, actions []string, resources ...string) {
	if len(resources) == 0 {
		return
	}
	slices.Sort(resources)
	w.statements = append(w.statements,
		Statement{Sid: sid, Why: why, Actions: actions, Resources: slices.Compact(resources)})
}

// setConditions sets the conditions of the statement that was added last.
func (w *writer) setConditions(conditions ...Condition) {
	w.statements[len(w.statements)-1].Conditions = conditions
}

func (w *writer) name(name string) string { return cmp.Or(w.options.Names[name], name) }

func (w *writer) arn(service, rest string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", w.options.Partition, service, w.options.Region, w.options.Account, rest)
}

// sourceTables returns the ARNs of the source tables.
func (w *writer) sourceTables() (tables []string) {
	for _, t := range w.cfg.Source.Tables {
		tables = append(tables, w.table(t))
	}
	return tables
}

// table returns the ARN of a table. The ARN is in the file, or is made from the table's name.
func (w *writer) table(t config.Table) string {
	return cmp.Or(t.ARN, w.arn("dynamodb", "table/"+w.name(t.Name)))
}

func (w *writer) bucket(name, rest string) string {
	return fmt.Sprintf("arn:%s:s3:::%s%s", w.options.Partition, w.name(name), rest)
}

// allowSink adds the rights of one sink.
func (w *writer) allowSink(s config.Sink) {
	switch {
	case s.View != nil:
		w.allowView(s)
	case s.Aggregate != nil:
		needsReplacement := func(v config.AggregateValue) bool { return v.Kind != "count" && v.Kind != "sum" }
		allowedActions := groupActions
		if !slices.ContainsFunc(s.Aggregate.Values, needsReplacement) {
			allowedActions = actions(groupActions, sumActions)
		}
		w.allow(sid("aggregate", s.Name), "rows of groups", allowedActions, w.table(s.Aggregate.Table))
	case s.Search != nil:
		w.allowSearch(s)
	case s.Archive != nil:
		w.allowArchive(s)
	case s.Notify != nil:
		w.allowNotify(s)
	}
}

func (w *writer) allowView(s config.Sink) {
	allowedActions, why := claimedActions, "rows that are guarded by item, or may be"
	switch {
	case s.View.ForEach != nil:
		allowedActions, why = actions(rowActions, rowDeleteActions), "rows of items, which the state guards"
	case s.View.RowsGuardThemselves() && s.View.InPlace:
		allowedActions, why = rowActions, "rows and tombstones, each with its own guard"
	case s.View.RowsGuardThemselves():
		allowedActions, why = actions(rowActions, rowDeleteActions), "rows, each with its own guard"
	}
	w.allow(sid("view", s.Name), why, allowedActions, w.table(s.View.Table))
}

func (w *writer) allowArchive(s config.Sink) {
	a := s.Archive
	if a.Bucket == "" {
		return
	}
	folder := archive.Folder(a.Prefix, a.Key)
	allowedActions := archiveActions
	if !a.PerItem {
		allowedActions = actions(allowedActions, multipartActions)
	}
	if len(a.Tags) > 0 {
		allowedActions = actions(allowedActions, tagActions)
	}
	w.allow(sid("archive", s.Name), "objects, and the record of the settings beside them; s3:GetObject lets HeadObject "+
		"compare an object that exists with the one to write, and lets If-Match replace it", allowedActions, w.bucket(a.Bucket, "/"+folder+"*"))
	w.allow(sid("archive", s.Name, "missing"), "an object that is missing is told from one that is forbidden",
		[]string{"s3:ListBucket"}, w.bucket(a.Bucket, ""))
	if a.KMSKey != "" {
		w.allowKey(sid("archive", s.Name, "key"), a.KMSKey)
	}
}

// allowKey adds the right to use a KMS key, but only through S3. If the file names an alias, the resource is all keys
// and a condition names the alias, because a resource cannot name an alias.
func (w *writer) allowKey(sid, key string) {
	region, arn := w.options.Region, w.arn("kms", "key/"+key)
	if parts := strings.SplitN(key, ":", 5); len(parts) == 5 { // an ARN: arn:PARTITION:kms:REGION:...
		region, arn = parts[3], key
	}
	conditions := []Condition{{"StringEquals", "kms:ViaService", []string{"s3." + region + "." + w.options.Suffix}}}
	if prefix, alias, isAlias := strings.Cut(arn, "alias/"); isAlias {
		arn = strings.TrimSuffix(prefix, "key/") + "key/*"
		conditions = append(conditions,
			Condition{"ForAnyValue:StringEquals", "kms:ResourceAliases", []string{"alias/" + alias}})
	}
	w.allow(sid, "objects are encrypted with the key that the file names", kmsActions, arn)
	w.setConditions(conditions...)
}

func (w *writer) allowNotify(s config.Sink) {
	n := s.Notify
	switch {
	case n.Queue != "":
		w.allow(sid("notify", s.Name), "events to the queue", w.queueActions(sendQueueActions, n.Queue), w.queue(n.Queue))
	case n.Topic != "":
		w.allow(sid("notify", s.Name), "events to the topic", topicActions, n.Topic)
	case n.Bus != "":
		w.allow(sid("notify", s.Name), "events to the bus", busActions, w.busARN(n.Bus))
	default:
		return
	}
	if bucket, folder := sinks.LargeEventFolder(w.cfg); bucket != "" {
		w.allow(sid("notify", s.Name, "large"), "events that are too large for a message are in the bucket",
			[]string{"s3:PutObject"}, w.bucket(bucket, "/"+folder+archive.Fingerprints+"/*"))
	}
}

// busARN returns the ARN of a bus. bus is the bus in the file, an ARN or a name.
func (w *writer) busARN(bus string) string {
	if strings.HasPrefix(bus, "arn:") {
		return bus
	}
	return w.arn("events", "event-bus/"+w.name(bus))
}

// queueActions returns allowedActions. Unless queue is a URL, it adds the action that looks up the queue's URL.
func (w *writer) queueActions(allowedActions []string, queue string) []string {
	if strings.Contains(queue, "://") {
		return allowedActions
	}
	return actions(allowedActions, queueURLActions)
}

// queue returns the ARN of a queue. Its argument is the queue in the file, a URL, an ARN or a name.
func (w *writer) queue(queue string) string {
	if strings.HasPrefix(queue, "arn:") {
		return queue
	}
	name := queue[strings.LastIndexByte(queue, '/')+1:]
	return w.arn("sqs", w.name(name))
}

// allowState adds the rights to the state table.
func (w *writer) allowState() {
	if w.cfg.State == nil {
		return
	}
	table := w.table(w.cfg.State.Table)
	w.allow("State", "what sinks remember of items, and the record of their settings: the rows of this pipeline",
		w.stateActions(), table)
	w.setConditions(leadingKeys(w.rowPrefix() + "#*")...)
	if w.consumes() {
		w.allow("StateShared", "the count of DescribeStream calls, and whose the lease table is: rows that pipelines share",
			sharedStateActions, table)
		w.setConditions(leadingKeys("#leases#"+w.name(w.cfg.Leases.Table.Name), "#quotas")...)
	}
	w.allow("StateTable", "the table is looked for at the start", stateTableActions, table)
	hasClaimedRows := func(s config.Sink) bool {
		return s.View != nil && s.View.ForEach == nil && !s.View.RowsGuardThemselves()
	}
	if w.options.Runner == Backfill && slices.ContainsFunc(w.cfg.Sinks, hasClaimedRows) {
		w.allow("StateClaims", "rows that several items claim are listed at the end: no condition on keys limits a Scan",
			statePurgeActions, table)
	}
	if w.options.Purge {
		w.allow("StatePurge", "what may be forgotten is looked for in the whole table: no condition on keys limits a Scan",
			statePurgeActions, table)
	}
}

// rowPrefix returns the beginning of the partition keys of the pipeline's rows in the state table, up to but without
// the #.
func (w *writer) rowPrefix() string {
	return cmp.Or(w.options.Pipeline, string(item.AppendEscaped(nil, w.cfg.Name)))
}

// consumes reports whether the policy is for consumers that share shards through a lease table.
func (w *writer) consumes() bool {
	return w.options.Runner == Consumer && w.cfg.Leases != nil && w.cfg.Leases.Table.Name != ""
}

func (w *writer) stateActions() []string {
	hasTombstonesInState := func(s config.Sink) bool {
		return s.View != nil && !s.View.InPlace && s.View.RowsMayGuardThemselves()
	}
	if slices.ContainsFunc(w.cfg.Sinks, hasTombstonesInState) {
		return actions(stateActions, tombstoneCheckActions)
	}
	return stateActions
}

func (w *writer) allowDeadLetters() {
	d := w.cfg.DeadLetters
	switch {
	case d == nil:
	case d.Queue != "":
		w.allowLetterQueue(d.Queue)
		if bucket, folder := sinks.LargeLetterFolder(w.cfg); bucket != "" {
			w.allowLetterFolder("DeadLettersLarge", "what cannot be delivered and is too large for a message", bucket, folder)
		}
	case d.Bucket != "":
		why := "what cannot be delivered"
		if w.options.Redrive {
			why += ", and brings it back"
		}
		w.allowLetterFolder("DeadLetters", why, d.Bucket, sinks.WithTrailingSlash(d.Prefix))
	}
}

// allowLetterQueue adds the rights to the queue of the pipeline's dead letters.
func (w *writer) allowLetterQueue(queue string) {
	allowedActions, why := letterQueueActions, "what cannot be delivered"
	switch {
	case w.options.Runner == Audit:
		allowedActions, why = auditQueueActions, auditsLetters
	case w.options.Redrive:
		allowedActions = actions(allowedActions, redriveQueueActions)
	}
	w.allow("DeadLetters", why, w.queueActions(allowedActions, queue), w.queue(queue))
}

// allowLetterFolder adds the rights to the folder of the pipeline's dead letters in a bucket.
func (w *writer) allowLetterFolder(sid, why, bucket, prefix string) {
	allowedActions := letterActions
	switch {
	case w.options.Runner == Audit:
		allowedActions, why = auditLetterActions, auditsLetters
	case w.options.Redrive:
		allowedActions = actions(letterActions, redriveActions)
	}
	folder := prefix + cmp.Or(w.options.Pipeline, url.PathEscape(w.cfg.Name))
	w.allow(sid, why, allowedActions, w.bucket(bucket, "/"+folder+"/*"))
	w.allow(sid+"Bucket", "the bucket is looked for at the start, and letters are listed", []string{"s3:ListBucket"},
		w.bucket(bucket, ""))
}
