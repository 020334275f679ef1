package template

import (
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/policy"
)

//go:embed storage.yaml.tmpl
var storageText string

// storage has the tables, buckets, queues, topics and buses in which a pipeline stores. They are as --create would make
// them. The source tables are not among them, because they exist.
type storage struct {
	Config                                 *config.Config
	Tables, Buckets, Queues, Topics, Buses []resource
	Left                                   []string // resources that the stack leaves out, with the reasons
	ids                                    logicalIDs
}

// logicalIDs are the logical ids of a stack that are in use.
type logicalIDs map[string]bool

// maxLogicalID is the maximum length of the ids that add makes, without the number. CloudFormation permits 255
// characters. The remaining ones are for the number, and for resources whose ids extend another id.
const maxLogicalID = 255 - 15

// add returns an unused logical id for a name, and marks it as used. It adds a number if necessary, because my-orders
// and my_orders are both MyOrders.
func (ids logicalIDs) add(kind, name string) string {
	base := kind + alphanumeric(name)
	base = base[:min(len(base), maxLogicalID)]
	id := base
	for n := 2; ids[id]; n++ {
		id = fmt.Sprint(base, n)
	}
	ids[id] = true
	return id
}

// owner is the account and Region of a resource, from its ARN or from the URL of a queue. It is zero if the file has
// only a name. The stack creates a resource with an owner only in that account and Region.
type owner struct{ Account, Region string }

// Condition returns the name of the CloudFormation condition for resources of the owner; "" if the owner is zero.
func (o owner) Condition() string {
	if o.Account == "" {
		return ""
	}
	return "In" + o.Account + alphanumeric(o.Region)
}

// HCL returns the condition for resources of the owner as a Terraform expression.
func (o owner) HCL() string {
	if o.Account == "" {
		return "var.create_storage"
	}
	return fmt.Sprintf(`var.create_storage && data.aws_caller_identity.current.account_id == %q && `+
		`data.aws_region.current.region == %q`, o.Account, o.Region)
}

// resource is a table, a bucket, a queue, a topic or a bus of a storage.
type resource struct {
	owner
	ID, Name, What string

	Key     []string // of a table: name of the partition key, then that of the sort key if there is one; both are strings
	TTL     string   // of a table: TTL attribute; "": none
	Letters bool     // of a bucket: all objects are dead letters, which expire
}

// FIFO reports whether the queue or topic is a FIFO one.
func (r resource) FIFO() bool { return strings.HasSuffix(r.Name, ".fifo") }

// CloudFormation prints a stack with the tables, buckets, queues, topics and buses of the configuration. If o.Runner is
// policy.Consumer, the stack also has the lease table.
func CloudFormation(w io.Writer, cfg *config.Config, o Options) error {
	functions := template.FuncMap{"text": yamlbind.Quoted}
	t, err := template.New("storage").Delims("<%", "%>").Funcs(functions).Parse(storageText)
	if err != nil {
		return err
	}
	s := newStorage(cfg)
	if o.Runner == policy.Consumer {
		s.addLeaseTable()
	}
	if s.empty() {
		return fmt.Errorf("%s names no table, bucket, queue, topic or bus: there is nothing to create", cfg.File)
	}
	return t.Execute(w, s)
}

// empty reports whether there is nothing to create.
func (s *storage) empty() bool {
	return len(s.Tables)+len(s.Buckets)+len(s.Queues)+len(s.Topics)+len(s.Buses) == 0
}

// StackName returns a name for the stack. CloudFormation permits letters, digits and hyphens.
func (s *storage) StackName() string { return strings.ReplaceAll(s.Config.Name, "_", "-") + "-storage" }

// LetterDays returns the number of days after which dead letters expire. Sinks would refuse older changes for their
// age.
func (s *storage) LetterDays() int { return int(sinks.GuardRetention(s.Config) / (24 * time.Hour)) }

// newStorage returns the storage of the configuration, without the lease table of consumers.
func newStorage(cfg *config.Config) *storage {
	s := &storage{Config: cfg, ids: make(logicalIDs)}
	for _, sink := range cfg.Sinks {
		purpose := "of " + sink.Name
		switch {
		case sink.View != nil:
			s.addTable(sink.View.Table, purpose, columnNames(sink.View.Key), "_tw_expires")
		case sink.Aggregate != nil:
			s.addTable(sink.Aggregate.Table, purpose, columnNames(sink.Aggregate.Group), "_tw_expires")
		case sink.Search != nil:
			s.Left = append(s.Left,
				fmt.Sprintf("the domain of %s: OpenSearch domains and serverless collections are not made by this template", sink.Name))
		case sink.Archive != nil && sink.Archive.Bucket != "":
			s.Buckets = s.add(s.Buckets, "Bucket", resource{Name: sink.Archive.Bucket, What: purpose})
		case sink.Notify != nil && sink.Notify.Queue != "":
			s.Queues = s.add(s.Queues, "Queue", newChannel(sink.Notify.Queue, purpose))
		case sink.Notify != nil && sink.Notify.Topic != "":
			s.Topics = s.add(s.Topics, "Topic", newChannel(sink.Notify.Topic, purpose))
		case sink.Notify != nil && sink.Notify.Bus != "" && sink.Notify.Bus != "default":
			s.Buses = s.add(s.Buses, "Bus", newChannel(sink.Notify.Bus, purpose))
		}
	}
	if cfg.State != nil {
		s.addTable(cfg.State.Table, "of what the sinks remember of items", []string{"pk", "sk"}, "expires")
	}
	if d := cfg.DeadLetters; d != nil && d.Bucket != "" {
		// If an archive also uses the bucket, the objects do not expire, because archives are added first.
		s.Buckets = s.add(s.Buckets, "Bucket", resource{Name: d.Bucket, What: "of dead letters", Letters: true})
	}
	if d := cfg.DeadLetters; d != nil && d.Queue != "" {
		s.Queues = s.add(s.Queues, "Queue", newChannel(d.Queue, "of dead letters"))
	}
	return s
}

// addLeaseTable adds the lease table of consumers, if the leases are in a table.
func (s *storage) addLeaseTable() {
	leases := s.Config.Leases
	if leases != nil && leases.Table.Name != "" {
		s.addTable(leases.Table, "of the consumers' leases", []string{"leaseKey"}, "")
	}
}

// columnNames returns the names of columns.
func columnNames(columns []config.Column) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

func (s *storage) addTable(t config.Table, description string, key []string, ttl string) {
	o, _ := parseAddress(t.ARN)
	s.Tables = s.add(s.Tables, "Table", resource{owner: o, Name: t.Name, What: description, Key: key, TTL: ttl})
}

// newChannel returns a queue, a topic or a bus. address is a name, a URL or an ARN.
func newChannel(address, description string) resource {
	o, name := parseAddress(address)
	return resource{owner: o, Name: name, What: description}
}

// add returns known with an additional resource. If known has the resource already, because two parts of the
// configuration use it, add extends the description of the known one.
func (s *storage) add(known []resource, kind string, r resource) []resource {
	isSame := func(k resource) bool { return k.owner == r.owner && k.Name == r.Name }
	if i := slices.IndexFunc(known, isSame); i >= 0 {
		known[i].What += ", " + strings.TrimPrefix(r.What, "of ")
		return known
	}
	r.ID = s.ids.add(kind, r.Name)
	return append(known, r)
}

// parseAddress returns the owner and the name of a resource. address is an ARN, the URL of a queue, or a name, which
// has no owner.
func parseAddress(address string) (o owner, name string) {
	if parts := strings.SplitN(address, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		resource := parts[5]
		_, name, hasType := strings.Cut(resource, "/")
		if !hasType {
			name = resource
		}
		return owner{Account: parts[4], Region: parts[3]}, name
	}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		account, name, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		if region := queueRegion(u.Hostname()); region != "" {
			o = owner{Account: account, Region: region}
		}
		return o, name
	}
	return owner{}, address
}

// queueRegion returns the Region in the host of a queue's URL. The host is sqs.REGION.amazonaws.com, or in older URLs
// REGION.queue.amazonaws.com. For another host, queueRegion returns "".
func queueRegion(host string) string {
	parts := strings.Split(host, ".")
	for i, p := range parts[:len(parts)-1] {
		switch {
		case p == "sqs" || p == "sqs-fips":
			return parts[i+1]
		case p == "queue" && i == 1:
			return parts[0]
		}
	}
	return ""
}

// Owners returns the owners of all resources, except the zero owner. Each needs a condition.
func (s *storage) Owners() []owner {
	var distinct []owner
	for _, r := range slices.Concat(s.Tables, s.Queues, s.Topics, s.Buses) {
		if r.Account != "" && !slices.Contains(distinct, r.owner) {
			distinct = append(distinct, r.owner)
		}
	}
	return distinct
}
