package retryconfig

import (
	"strconv"
	"strings"
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// cloudformationReader reads templates of CloudFormation and SAM, YAML or JSON.
// Source: AWS documentation of SQS redrive, Lambda event sources, EventBridge targets.
var cloudformationReader = &Reader{
	Name:    "cloudformation",
	Title:   "CloudFormation and SAM: SQS redrive, Lambda event sources, async invocation, EventBridge, Scheduler, Step Functions",
	Objects: []string{"AWS::SQS::Queue", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::EventInvokeConfig", "AWS::Events::Rule", "AWS::Scheduler::Schedule", "AWS::StepFunctions::StateMachine", "AWS::Serverless::Function", "AWS::Serverless::StateMachine"},
	refusal: "the stack is not deployed",
	Samples: []Reading{
		{Setting: "AWS::SQS::Queue RedrivePolicy.maxReceiveCount", Counts: "all", Name: "template.yaml", Text: `Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      RedrivePolicy:
        deadLetterTargetArn: arn:aws:sqs:eu-west-1:1:dlq
        maxReceiveCount: @N@
`},
		{Setting: "AWS::Lambda::EventInvokeConfig MaximumRetryAttempts", Counts: "after the first", Name: "template.yaml", Text: `Resources:
  Async:
    Type: AWS::Lambda::EventInvokeConfig
    Properties:
      FunctionName: f
      MaximumRetryAttempts: @N@
`},
		{Setting: "AWS::Events::Rule RetryPolicy.MaximumRetryAttempts", Counts: "after the first", Name: "template.yaml", Text: `Resources:
  Rule:
    Type: AWS::Events::Rule
    Properties:
      Targets:
      - Id: a
        Arn: arn:aws:lambda:eu-west-1:1:function:a
        RetryPolicy:
          MaximumEventAgeInSeconds: 3600
          MaximumRetryAttempts: @N@
`}},
	claims: func(d *doc) bool {
		for _, e := range d.root.Get("Resources").Map() {
			if strings.HasPrefix(e.Value.Get("Type").Str(), "AWS::") {
				return true
			}
		}
		return false
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			c := &cfn{in: in, res: d.root.Get("Resources"), consumed: map[string]bool{}}
			c.globals = d.root.Get("Globals", "Function")
			c.read()
		}
	},
}

type cfn struct {
	in       *input
	res      *tree.Node
	globals  *tree.Node
	consumed map[string]bool // queues that a function reads
}

func (c *cfn) read() {
	for _, e := range c.res.Map() {
		p := e.Value.Get("Properties")
		switch typ := e.Value.Get("Type").Str(); typ {
		case "AWS::Lambda::EventSourceMapping":
			fn := refOf(p.Get("FunctionName"))
			c.eventSource(e.Key, fn, p, e.KeyPos)
		case "AWS::Serverless::Function":
			for _, ev := range p.Get("Events").Map() {
				c.samEvent(e.Key, ev)
			}
			if ic := p.Get("EventInvokeConfig"); ic != nil {
				c.async(e.Key, e.Key, ic)
			}
		case "AWS::Lambda::EventInvokeConfig":
			c.async(e.Key, refOf(p.Get("FunctionName")), p)
		case "AWS::Events::Rule":
			for i, t := range p.Get("Targets").List() {
				name := t.Get("Id").Str()
				if name == "" {
					name = e.Key + "#" + strconv.Itoa(i)
				}
				c.target(name, t, "DeadLetterConfig")
			}
		case "AWS::Scheduler::Schedule":
			c.target(e.Key, p.Get("Target"), "DeadLetterConfig")
		case "AWS::StepFunctions::StateMachine", "AWS::Serverless::StateMachine":
			c.stateMachine(e.Key, p)
		default:
			if p.Get("RetryPolicy", "MaxRetryAttempts") != nil || p.Get("RetryPolicy", "MaxEventAgeInSeconds") != nil {
				c.subscriber(e.Key, p)
			} else if typ != "AWS::SQS::Queue" && typ != "AWS::Lambda::Function" {
				c.in.unknownSetting(p, "a retry setting of "+typ+", which no reader knows")
			}
		}
	}
	for _, e := range c.res.Map() {
		if e.Value.Get("Type").Str() == "AWS::SQS::Queue" && !c.consumed[e.Key] && e.Value.Get("Properties", "RedrivePolicy") != nil {
			c.queue(e.Key, e.Value.Get("Properties"), "", nil)
		}
	}
}

// refOf gives the logical id that a value refers to: !Ref, !GetAtt, an ARN's last part,
// or the text.
func refOf(n *tree.Node) string {
	if n.Is(tree.Map) && len(n.Entries) == 1 {
		v := n.Entries[0].Value
		if n.Entries[0].Key == "Fn::GetAtt" && v.Is(tree.Seq) {
			return v.Items0().Str()
		}
		return refOf(v)
	}
	s := n.Str()
	if tagOf(n) == "!GetAtt" || strings.Contains(tagOf(n), "GetAtt") {
		s, _, _ = strings.Cut(s, ".")
		return s
	}
	if n.Is(tree.Seq) {
		return n.Items0().Str()
	}
	if strings.HasPrefix(s, "arn:") {
		return s[strings.LastIndexAny(s, ":/")+1:]
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}")
	s, _, _ = strings.Cut(s, ".")
	return s
}

func (c *cfn) timeoutOf(fn string) (time.Duration, bool) {
	p := c.res.Get(fn, "Properties")
	t := p.Get("Timeout")
	if t == nil {
		t = c.globals.Get("Timeout")
	}
	if t == nil {
		return 3 * time.Second, p != nil
	}
	d, err := whole(t.Str(), time.Second)
	return d, err == nil // a value that is filled in later is not known
}

func (c *cfn) samEvent(fn string, ev tree.Entry) {
	p := ev.Value.Get("Properties")
	switch ev.Value.Get("Type").Str() {
	case "SQS", "Kinesis", "DynamoDB":
		c.eventSource(fn+ev.Key, fn, p, ev.KeyPos)
	case "EventBridgeRule", "CloudWatchEvent", "Schedule", "ScheduleV2":
		if p.Get("RetryPolicy") != nil {
			c.target(fn+ev.Key, p, "DeadLetterConfig")
		}
	}
}

// eventSource reads an event source mapping: a queue or a stream.
func (c *cfn) eventSource(id, fn string, p *tree.Node, at tree.Pos) {
	src := p.First("EventSourceArn", "Queue", "Stream")
	name := refOf(src)
	typ := c.res.Get(name, "Type").Str()
	text := strings.ToLower(src.Str() + typ + textOf(src))
	switch {
	case typ == "AWS::SQS::Queue" || p.Has("Queue") || strings.Contains(text, ":sqs:"):
		c.consumed[name] = true
		c.queue(name, c.res.Get(name, "Properties"), fn, p)
	case p.Has("Stream") || p.Has("StartingPosition") || strings.Contains(text, "kinesis") || strings.Contains(text, "dynamodb") || strings.Contains(text, "stream"):
		c.stream(name, fn, p, at)
	}
}

func textOf(n *tree.Node) string {
	var b strings.Builder
	n.Walk(func(_ []string, n *tree.Node) bool { b.WriteString(n.Str()); return b.Len() < 1000 })
	return b.String()
}

// queue is SQS with its redrive policy and, when the template has one, its function.
func (c *cfn) queue(name string, q *tree.Node, fn string, mapping *tree.Node) {
	in := c.in
	redrive := q.Get("RedrivePolicy")
	if redrive.Is(tree.Scalar) {
		if r, err := tree.ParseJSON([]byte(redrive.Text)); err == nil {
			movePos(r, redrive.Pos)
			redrive = r
		}
	}
	at := q.At()
	if redrive != nil {
		at = redrive.At()
	} else if q == nil {
		at = c.res.Get(name).At() // a queue without properties
	}
	label := name
	if fn != "" {
		label = name + " -> " + fn
	}
	h := in.hop("aws.sqs", label, at)
	h.Class, h.OverallKnown = Queue, true
	h.MayHaveRun = Yes
	n := in.count(h, "maxReceiveCount", redrive.Get("maxReceiveCount"), number{Min: 1, Max: 1000, Strings: true, Floats: true})
	visibility := 30 * time.Second
	if d := in.duration(h, "VisibilityTimeout", q.Get("VisibilityTimeout"), secondsGrammar); d != nil {
		visibility = *d
	} else {
		h.hidden("VisibilityTimeout 30s")
	}
	switch {
	case n != nil:
		h.total("maxReceiveCount", n, 0)
		h.DeadLetter = Yes
	case redrive == nil && c.res.Get(name) != nil:
		h.Unbounded, h.Written = true, "no RedrivePolicy: received again until the retention ends"
		retention := 4 * 24 * time.Hour
		if d := in.duration(h, "MessageRetentionPeriod", q.Get("MessageRetentionPeriod"), secondsGrammar); d != nil {
			retention = *d
		}
		h.Overall, h.StopsOnly = &retention, true
		h.DeadLetter = No
		in.fact("missing-dead-letter", at, h, "no RedrivePolicy: a message that never succeeds comes back until it is %v old, then it is gone", retention)
	case h.Refused == "" && h.Undecided == "":
		in.undecided(h, at, "the queue is not in this template")
	}
	c.queueTimes(h, visibility, fn, mapping)
}

// queueTimes: a delivery lasts up to the function's timeout, the next one starts when
// the message is visible again.
func (c *cfn) queueTimes(h *Hop, visibility time.Duration, fn string, mapping *tree.Node) {
	in := c.in
	limit, known := c.timeoutOf(fn)
	h.TimeoutRetried = Yes
	if fn == "" || !known {
		h.EndedOutside = true
		h.Waits = Backoff{Open: true, Source: "visible again after the visibility timeout"}
		return
	}
	h.perTry(&limit)
	h.Waits = Backoff{Growth: Constant, Base: max(visibility-limit, 0), Elsewhere: true, Source: "what is left of the visibility timeout"}
	if h.Refused != "" {
		return
	}
	if visibility < limit {
		at := tree.Pos{}
		f := in.fact("visibility-shorter-than-processing", at, h, "the message is visible again after %v, while the function may run for %v: a second delivery starts while the first runs", visibility, limit)
		f.Value, f.Limit = visibility.String(), limit.String()
		if h.Attempts != nil && *h.Attempts > 1 {
			high := mulDur(limit, *h.Attempts)
			h.Worst, h.WorstHigh, h.WorstLow = &high, &high, dp(addDur(mulDur(visibility, *h.Attempts-1), limit))
		}
	} else if visibility < 6*limit {
		h.note("AWS asks for a visibility of 6 times the function timeout: %v", 6*limit)
	}
}

// movePos gives every node of embedded text the place of the text.
func movePos(n *tree.Node, at tree.Pos) {
	n.Walk(func(_ []string, n *tree.Node) bool {
		n.Pos = at
		for i := range n.Entries {
			n.Entries[i].KeyPos = at
		}
		return true
	})
}

func (c *cfn) stream(name, fn string, p *tree.Node, at tree.Pos) {
	in := c.in
	h := in.hop("aws.lambda-stream", name+" -> "+fn, at)
	h.Class, h.OverallKnown, h.MayHaveRun, h.TimeoutRetried = Queue, true, Yes, Yes
	n := in.count(h, "MaximumRetryAttempts", p.Get("MaximumRetryAttempts"), number{Min: -1, Max: 10000, Floats: true})
	age := in.count(h, "MaximumRecordAgeInSeconds", p.Get("MaximumRecordAgeInSeconds"), number{Min: -1, Max: 604800, Floats: true})
	if age != nil && *age >= 0 && *age < 60 {
		in.refuse(h, p.Get("MaximumRecordAgeInSeconds").At(), "MaximumRecordAgeInSeconds %d is outside -1, 60..604800", *age)
	}
	if age != nil && *age > 0 {
		h.Overall, h.StopsOnly = dp(time.Duration(*age)*time.Second), true
	}
	if n == nil || *n == -1 {
		h.Unbounded, h.Written = true, "MaximumRetryAttempts -1 or absent = no limit"
		if n == nil {
			h.Default = true
			h.hidden("no limit on the count, none on the age")
			in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote MaximumRetryAttempts: a failing batch is tried again without a limit")
		}
		if h.Overall == nil {
			in.fact("poison-message-blocking", tree.Pos{}, h, "one record that never succeeds stops its shard until it expires: no limit on attempts and none on the age")
		}
	} else {
		h.retries("MaximumRetryAttempts", n, 0)
	}
	if limit, known := c.timeoutOf(fn); known {
		h.perTry(&limit)
	} else {
		h.EndedOutside = true
	}
	h.Waits = Backoff{Open: true, Source: "not published"}
	h.DeadLetter = Yes
	if p.Get("DestinationConfig", "OnFailure") == nil {
		h.DeadLetter = No
		in.fact("missing-dead-letter", tree.Pos{}, h, "no OnFailure destination: what is given up is gone")
	}
}

// async is the retry of asynchronous invocation: after 1 and 2 minutes.
func (c *cfn) async(id, fn string, p *tree.Node) {
	in := c.in
	at := p.At()
	if e := p.Entry("MaximumRetryAttempts"); e != nil {
		at = e.KeyPos
	}
	h := in.hop("aws.lambda-async", id, at)
	h.Class, h.OverallKnown, h.MayHaveRun, h.TimeoutRetried = Queue, true, Yes, Yes
	n := in.count(h, "MaximumRetryAttempts", p.Get("MaximumRetryAttempts"), number{Min: 0, Max: 2, Floats: true, Strings: true})
	h.retries("MaximumRetryAttempts", n, 2)
	if n == nil {
		h.hidden("MaximumRetryAttempts 2")
		in.fact("implicit-default-retry", tree.Pos{}, h, "MaximumRetryAttempts absent: 2 more attempts")
	}
	age := in.count(h, "MaximumEventAgeInSeconds", p.Get("MaximumEventAgeInSeconds"), number{Min: 60, Max: 21600, Floats: true, Strings: true})
	if d := time.Duration(or(age, 21600)) * time.Second; h.Refused == "" {
		h.Overall, h.StopsOnly = &d, true
	}
	if h.Undecided != "" {
		h.Attempts = nil
	}
	if limit, known := c.timeoutOf(fn); known {
		h.perTry(&limit)
	} else {
		h.EndedOutside = true
	}
	h.Waits = Backoff{Growth: Listed, List: []time.Duration{time.Minute, 2 * time.Minute}, Source: "1 min, 2 min"}
	h.DeadLetter = Yes
	if p.Get("DestinationConfig", "OnFailure") == nil && c.res.Get(fn, "Properties", "DeadLetterConfig") == nil && c.res.Get(fn, "Properties", "DeadLetterQueue") == nil {
		h.DeadLetter = No
		in.fact("missing-dead-letter", tree.Pos{}, h, "no OnFailure destination: what is given up is gone")
	}
}

// target is a target of EventBridge or of the scheduler: 185 more attempts in 24 h.
func (c *cfn) target(name string, t *tree.Node, dlq string) {
	pol := t.Get("RetryPolicy")
	at := t.At()
	if pol != nil {
		at = pol.At()
	}
	c.eventTarget(c.in.hop("aws.eventbridge", name, at), pol, [2]string{"MaximumRetryAttempts", "MaximumEventAgeInSeconds"}, 185, 86400)
	h := c.in.file.Hops[len(c.in.file.Hops)-1]
	h.DeadLetter = Yes
	if t.Get(dlq) == nil {
		h.DeadLetter = No
		c.in.fact("missing-dead-letter", tree.Pos{}, h, "no DeadLetterConfig: an event whose attempts are used up is dropped")
	}
}

// subscriber is a subscriber of a custom event bus: 5 more attempts in 300 s.
func (c *cfn) subscriber(name string, p *tree.Node) {
	h := c.in.hop("aws.event-bus-subscriber", name, p.Get("RetryPolicy").At())
	c.eventTarget(h, p.Get("RetryPolicy"), [2]string{"MaxRetryAttempts", "MaxEventAgeInSeconds"}, 5, 300)
}

func (c *cfn) eventTarget(h *Hop, pol *tree.Node, keys [2]string, defCount, defAge int64) {
	in := c.in
	h.Class, h.OverallKnown, h.MayHaveRun = Queue, true, Yes
	n := in.count(h, keys[0], pol.Get(keys[0]), number{Min: 0, Max: 185, Floats: true, Strings: true})
	ageNode := pol.Get(keys[1])
	age := in.count(h, keys[1], ageNode, number{Min: 60, Max: 86400, Floats: true, Strings: true})
	h.retries(keys[0], n, defCount)
	if n == nil {
		h.Default = pol == nil
		h.hidden("%d more attempts in %d s", defCount, defAge)
		if h.Refused == "" {
			in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote %s: up to %d attempts in %v", keys[0], defCount+1, time.Duration(or(age, defAge))*time.Second)
		}
	}
	d := time.Duration(or(age, defAge)) * time.Second
	h.Overall = &d
	h.Waits = Backoff{Open: true, Jitter: true, Source: "exponential with jitter, not published"}
	h.Undecided = "the schedule and the limit of one attempt are not published"
	if h.Refused == "" && *h.Attempts > 1 {
		h.Worst = &d
	}
}

// stateMachine reads a definition: an object, or text in a string.
func (c *cfn) stateMachine(name string, p *tree.Node) {
	def := p.First("Definition", "DefinitionString")
	if def.Is(tree.Map) && len(def.Entries) == 1 && def.Entries[0].Key == "Fn::Sub" {
		def = def.Entries[0].Value
		if def.Is(tree.Seq) {
			def = def.Items0()
		}
	}
	if def.Is(tree.Scalar) {
		root, err := tree.ParseJSON([]byte(def.Text))
		if err != nil {
			c.in.fact("unmodelled-mechanism", def.At(), nil, "the definition of %s is not readable: %v", name, err)
			return
		}
		movePos(root, def.Pos)
		def = root
	}
	if isASL(def) {
		c.in.asl(def, name+"/")
	}
}
