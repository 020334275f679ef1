package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const service = "deploy/ecs.yaml"

// A stop ends before ECS kills the process. It takes the time of the soft stop, a third of a lease for the hard stop,
// and a second.
func TestTheTaskStopsInTime(t *testing.T) {
	s := readStack(t, service)
	command := texts(s.find(t, "Task.ContainerDefinitions.0.Command"))
	i := slices.Index(command, "--stop-timeout")
	if i < 0 {
		t.Fatalf("the command %v has no --stop-timeout", command)
	}
	soft, err := time.ParseDuration(command[i+1])
	if err != nil {
		t.Fatal(err)
	}
	lease := 6 * time.Second // the default duration
	if l := configuration(t, "deploy/example").Leases.Duration; l > 0 {
		lease = l
	}
	kill := time.Duration(s.find(t, "Task.ContainerDefinitions.0.StopTimeout").(int)) * time.Second
	if need := soft + lease/3 + time.Second; kill <= need || kill > 2*time.Minute {
		t.Errorf("ECS ends the process after %v, and a stop takes up to %v; Fargate waits two minutes at most", kill, need)
	}
}

// The task runs the image with the image's own command and health check.
func TestTheTaskRunsTheImage(t *testing.T) {
	s := readStack(t, service)
	_, stage := dockerfile(t)
	command, cmd := texts(s.find(t, "Task.ContainerDefinitions.0.Command")), list(t, the(t, stage, "CMD"))
	if len(command) < len(cmd) || !slices.Equal(command[:len(cmd)], cmd) {
		t.Errorf("the task runs %v, the image %v", command, cmd)
	}
	check := texts(s.find(t, "Task.ContainerDefinitions.0.HealthCheck.Command"))
	if want := append([]string{"CMD"}, list(t, the(t, stage, "HEALTHCHECK"))...); !slices.Equal(check, want) {
		t.Errorf("ECS checks by %v, the image by %v", check, want)
	}
	if user := s.find(t, "Task.ContainerDefinitions.0.User"); user != the(t, stage, "USER") {
		t.Errorf("the task is %v, the image %v", user, the(t, stage, "USER"))
	}
	for i := range 2 {
		container := s.find(t, "Task.ContainerDefinitions").([]any)[i].(map[string]any)
		if container["ReadonlyRootFilesystem"] != true {
			t.Errorf("the root of %v may be written", container["Name"])
		}
	}
	if path := s.find(t, "Task.ContainerDefinitions.0.MountPoints.0.ContainerPath"); path != the(t, stage, "VOLUME") {
		t.Errorf("%v may be written, and the image's volume is %v", path, the(t, stage, "VOLUME"))
	}
}

// The template sets exactly the variables that the configuration reads from the environment.
func TestTheTaskSetsWhatTheConfigurationReads(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "deploy", "example", "tablewake.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{(\w+)`).FindAllStringSubmatch(string(b), -1) {
		reads[m[1]] = true
	}
	sets := map[string]bool{}
	for _, e := range readStack(t, service).find(t, "Task.ContainerDefinitions.0.Environment").([]any) {
		if name := e.(map[string]any)["Name"].(string); !strings.HasPrefix(name, "OTEL_") {
			sets[name] = true
		}
	}
	if !maps.Equal(reads, sets) {
		t.Errorf("the configuration reads %v, the task sets %v", slices.Sorted(maps.Keys(reads)), slices.Sorted(maps.Keys(sets)))
	}
}

// Each parameter has a description, so that nobody has to read the template for its meaning.
func TestParametersAreDescribed(t *testing.T) {
	parameters := readStack(t, service).Parameters
	if len(parameters) < 20 {
		t.Errorf("%d parameters", len(parameters))
	}
	for name, p := range parameters {
		if len(strings.Fields(p.Description)) < 3 || !strings.HasSuffix(p.Description, ".") {
			t.Errorf("%s: %q describes it", name, p.Description)
		}
	}
}

// The lease table and the state table are as `consume --create` makes them.
func TestTablesOfTheStack(t *testing.T) {
	s := readStack(t, service)
	for path, want := range map[string]string{
		"Leases.KeySchema.0.AttributeName":            "leaseKey",
		"State.KeySchema.0.AttributeName":             "pk",
		"State.KeySchema.1.AttributeName":             "sk",
		"State.TimeToLiveSpecification.AttributeName": "expires",
	} {
		if got := s.find(t, path); got != want {
			t.Errorf("%s is %v, want %s", path, got, want)
		}
	}
}

// Alarms and scaling use metrics that exist.
func TestAlarmsAreOfMetricsThatThereAre(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "pipeline", "telemetry", "METRICS.md"))
	if err != nil {
		t.Fatal(err)
	}
	alarms := 0
	for name, r := range readStack(t, service).Resources {
		if r.Type != "AWS::CloudWatch::Alarm" || r.Properties["Namespace"] != "tablewake" {
			continue
		}
		alarms++
		if metric := r.Properties["MetricName"].(string); !strings.Contains(string(page), "| `"+metric+"` |") {
			t.Errorf("%s is of %s, which METRICS.md does not name", name, metric)
		}
		dimensions := r.Properties["Dimensions"].([]any)
		if d := dimensions[0].(map[string]any); len(dimensions) != 1 || d["Name"] != "pipeline" || d["Value"] != "${Pipeline}" {
			t.Errorf("%s has the dimensions %v, and metrics have pipeline", name, dimensions)
		}
	}
	if alarms < 6 {
		t.Errorf("%d alarms", alarms)
	}
}

// An archive gathers changes until its object is old enough. In steady traffic this causes a lag of that age. The
// thresholds are above this lag, so that it neither starts more consumers nor keeps them.
func TestScalingIsAboveWhatArchivesGather(t *testing.T) {
	s := readStack(t, service)
	seconds := func(name string) time.Duration {
		p, there := s.Parameters[name]
		if !there || p.Default == nil {
			t.Fatalf("the parameter %s has no default", name)
		}
		d, err := time.ParseDuration(*p.Default + "s")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.Description, "roll.age") {
			t.Errorf("%s does not say that it has to be above roll.age: %q", name, p.Description)
		}
		return d
	}
	for alarm, parameter := range map[string]string{"Lags": "LagToScaleOut", "KeepsUp": "LagToScaleIn", "LagsLong": "LagAlarm"} {
		if got := s.find(t, alarm+".Threshold"); got != "${"+parameter+"}" {
			t.Errorf("%s is at %v, want %s", alarm, got, parameter)
		}
	}
	gathers := time.Duration(0)
	for _, sink := range configuration(t, "deploy/example").Sinks {
		if sink.Archive != nil {
			gathers = max(gathers, sink.Archive.Roll.Age)
		}
	}
	in, out, told := seconds("LagToScaleIn"), seconds("LagToScaleOut"), seconds("LagAlarm")
	if gathers == 0 || in < gathers+30*time.Second || out < in+time.Minute || told <= out {
		t.Errorf("an archive gathers for %v; one consumer less runs below %v, more above %v, and somebody is told at %v", gathers, in, out, told)
	}
}

// The command in README sets all parameters without a default, and only existing parameters.
func TestTheDocumentedCommandDeploys(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(page), "--parameter-overrides ")
	command, _, ends := strings.Cut(command, "```")
	if !found || !ends {
		t.Fatal("deploy/README.md shows no such command")
	}
	given := map[string]bool{}
	for _, m := range regexp.MustCompile(`([A-Za-z]+)=\S`).FindAllStringSubmatch(command, -1) {
		given[m[1]] = true
	}
	parameters := readStack(t, service).Parameters
	for name := range given {
		if _, there := parameters[name]; !there {
			t.Errorf("the template has no parameter %s", name)
		}
	}
	for name, p := range parameters {
		if p.Default == nil && !given[name] {
			t.Errorf("the parameter %s has no default, and is not given", name)
		}
	}
}

func TestLinksOfTheREADMELeadSomewhere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(page), -1)
	if len(links) < 10 {
		t.Errorf("%d links", len(links))
	}
	for _, m := range links {
		if _, err := os.Stat(filepath.Join(root, "deploy", m[1])); err != nil {
			t.Error(err)
		}
	}
}
