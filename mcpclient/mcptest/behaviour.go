package mcptest

import "encoding/json"

// Behaviour is one thing that a bad server does.
type Behaviour string

// Silence.
const (
	// Silent never answers. What comes later is answered.
	Silent Behaviour = "silent"
	// Late answers after Delay (1 s), cancelled or not.
	Late Behaviour = "late"
	// StopReading reads nothing more from standard input, and stays.
	StopReading Behaviour = "stop-reading"
)

// Noise. The answer follows, unless it says otherwise.
const (
	// Banner writes Text ("Welcome to mcptest!") as a line of its own.
	Banner Behaviour = "banner"
	// BOM writes a byte order mark in front of the next message.
	BOM Behaviour = "bom"
	// HalfLine writes half of the answer, and never the rest.
	HalfLine Behaviour = "half-line"
	// EndlessLine writes a line that never ends, instead of the answer.
	EndlessLine Behaviour = "endless-line"
	// HugeLine writes one line of Size (1 GiB) bytes that is no JSON.
	HugeLine Behaviour = "huge-line"
	// HugeResult answers with a text of Size (1 GiB) bytes; its id comes first.
	HugeResult Behaviour = "huge-result"
	// HugeResultIDLast does so with its id behind the result.
	HugeResultIDLast Behaviour = "huge-result-id-last"
	// Flood sends Count (200,000) log notifications with Size bytes of text each (0).
	Flood Behaviour = "flood"
	// Stderr writes Text, or Size bytes, to standard error.
	Stderr Behaviour = "stderr"
)

// Notifications, sent before the answer.
const (
	// Progress reports Count (3) steps of progress. The token is the client's own, string or
	// integer as it came; JSON replaces it; "no-such-token" where there is none.
	Progress Behaviour = "progress"
	// Log sends a log notification with Text.
	Log Behaviour = "log"
	// ListChanged says that the list of Text ("tools") has changed.
	ListChanged Behaviour = "list-changed"
	// Notify sends a notification of the method Text ("notifications/unknown") with the parameters JSON ({}).
	Notify Behaviour = "notify"
)

// Requests to the client. The answer follows when the client has replied, or after Delay
// (2 s). Record.Answers tells what it replied.
const (
	// AskPing asks whether the client is there.
	AskPing Behaviour = "ask-ping"
	// AskSampling asks for a completion of the client's model.
	AskSampling Behaviour = "ask-sampling"
	// AskRoots asks for the client's folders.
	AskRoots Behaviour = "ask-roots"
	// AskElicitation asks for the user's name.
	AskElicitation Behaviour = "ask-elicitation"
)

// Ids and order.
const (
	// WrongID answers with an id that nobody asked with.
	WrongID Behaviour = "wrong-id"
	// DuplicateID answers with the id of the answer before.
	DuplicateID Behaviour = "duplicate-id"
	// FractionalID puts .7 behind the id.
	FractionalID Behaviour = "fractional-id"
	// StringID puts the id in quotation marks.
	StringID Behaviour = "string-id"
	// NullID answers with the id null.
	NullID Behaviour = "null-id"
	// OutOfOrder keeps the answer back until the next request has been answered.
	OutOfOrder Behaviour = "out-of-order"
	// Twice sends the answer twice.
	Twice Behaviour = "twice"
)

// Shapes of an answer.
const (
	// NullResult answers with the result null.
	NullResult Behaviour = "null-result"
	// UnknownResultType answers with a resultType that no revision knows.
	UnknownResultType Behaviour = "unknown-result-type"
	// InputRequired answers that input is required: the requests JSON, or one elicitation.
	InputRequired Behaviour = "input-required"
	// BothResultAndError answers with a result and an error.
	BothResultAndError Behaviour = "result-and-error"
	// NeitherResultNorError answers with an id alone.
	NeitherResultNorError Behaviour = "neither-result-nor-error"
	// ErrorReply answers with the error Code (-32603) and Text ("scripted error").
	ErrorReply Behaviour = "error-reply"
	// InvalidJSON cuts the answer's last byte off and sends it as a whole message.
	InvalidJSON Behaviour = "invalid-json"
	// Reply answers with the result JSON, whatever the method.
	Reply Behaviour = "reply"
	// Raw sends JSON, or else Text, as the answer, with the id in the place of "$id".
	Raw Behaviour = "raw"
)

// Shapes of a list: of tools, or whatever the step lists.
const (
	// PageForever gives every page a cursor to a next one.
	PageForever Behaviour = "page-forever"
	// RepeatCursor gives every page the same cursor.
	RepeatCursor Behaviour = "repeat-cursor"
	// EntryTwice lists every entry twice.
	EntryTwice Behaviour = "entry-twice"
	// NullList lists null.
	NullList Behaviour = "null-list"
	// NullEntry lists [null].
	NullEntry Behaviour = "null-entry"
	// NoList leaves the list out.
	NoList Behaviour = "no-list"
	// MalformedEntry adds JSON, or an entry with ill-typed members, to the good ones.
	MalformedEntry Behaviour = "malformed-entry"
	// CyclicSchema adds a tool "cyclic" whose schema refers to itself and consumes nothing.
	CyclicSchema Behaviour = "cyclic-schema"
	// RemoteSchema adds a tool "remote" whose schema refers to the address Text.
	RemoteSchema Behaviour = "remote-schema"
)

// Ends.
const (
	// CrashBefore exits with Code (1), or drops the connection, instead of answering. Text goes to standard error.
	CrashBefore Behaviour = "crash-before"
	// CrashAmid does so in the middle of the answer.
	CrashAmid Behaviour = "crash-amid"
	// CrashAfter does so right behind the answer.
	CrashAfter Behaviour = "crash-after"
	// IgnoreEOF stays when standard input ends.
	IgnoreEOF Behaviour = "ignore-eof"
	// IgnoreTerm stays on SIGTERM.
	IgnoreTerm Behaviour = "ignore-term"
	// Grandchild starts a process in the same group that holds the pipes and ignores SIGTERM.
	Grandchild Behaviour = "grandchild"
	// Escape starts such a process in a session of its own, by a double fork. It ends when
	// nobody holds the other end of its standard output any more.
	Escape Behaviour = "escape"
)

// HTTP only.
const (
	// RedirectSame redirects to another path of this server, with status Code (307).
	RedirectSame Behaviour = "redirect-same"
	// RedirectOther redirects to HTTPServer.Elsewhere, which answers well, over plain HTTP always.
	RedirectOther Behaviour = "redirect-other"
	// Redirect redirects to the address Text.
	Redirect Behaviour = "redirect"
	// HTML answers with a page, and status Code (200).
	HTML Behaviour = "html"
	// Truncated ends the connection in the middle of a body with a length.
	Truncated Behaviour = "truncated"
	// EmptyBody answers 200 with no bytes of JSON.
	EmptyBody Behaviour = "empty-body"
	// Status answers with status Code (500), Text as Retry-After, and Size bytes of text.
	Status Behaviour = "status"
	// HugeBody answers with JSON of Size (1 GiB) bytes; HugeResult over HTTP does too.
	HugeBody Behaviour = "huge-body"
	// HugeEvent answers with one event of Size (1 GiB) bytes.
	HugeEvent Behaviour = "huge-event"
	// HugeError answers with status Code (500) and Size (1 GiB) bytes of text.
	HugeError Behaviour = "huge-error"
	// HugeHeader answers with a header of Size (16 MiB) bytes.
	HugeHeader Behaviour = "huge-header"
	// CompressionBomb answers with a gzip body of Size (1 GiB) bytes when unpacked.
	CompressionBomb Behaviour = "compression-bomb"
	// SlowHeaders sends one byte of a header each Delay (50 ms), for ever.
	SlowHeaders Behaviour = "slow-headers"
	// StreamLeftOpen answers in a stream of events that then stays open.
	StreamLeftOpen Behaviour = "stream-left-open"
	// SessionGone forgets the session and answers 404, as to all that follows in it.
	SessionGone Behaviour = "session-gone"
	// RetryYears ends the stream before the answer, and asks to come back in years.
	RetryYears Behaviour = "retry-years"
)

// media is what a behaviour can happen on.
type media uint8

const (
	stdio media = 1 << iota
	overHTTP
	either = stdio | overHTTP
)

// String returns the medium's name.
func (m media) String() string {
	if m == stdio {
		return "stdio"
	}
	return "HTTP"
}

// behaviour is how a Behaviour is done.
type behaviour struct {
	media media
	// takes says that do sends the answer itself, or that there is none.
	takes bool
	do    func(*turn)
}

var behaviours = map[Behaviour]behaviour{
	Silent:      {either, true, func(t *turn) { <-t.ctx.Done() }},
	Late:        {either, false, func(t *turn) { t.wait(t.conn, orElse(t.fault.Delay, defaultLate)) }},
	StopReading: {stdio, false, func(t *turn) { t.peer.set(&t.peer.deaf) }},

	Banner:           {either, false, func(t *turn) { t.write(orElse(t.fault.Text, "Welcome to mcptest!") + "\n") }},
	BOM:              {either, false, func(t *turn) { t.write("\ufeff") }},
	HalfLine:         {either, true, halfLine},
	EndlessLine:      {either, true, func(t *turn) { t.fill('x', endless) }},
	HugeLine:         {either, false, func(t *turn) { t.fill('x', orElse(t.fault.Size, gigabyte)); t.write("\n") }},
	HugeResult:       {either, true, func(t *turn) { t.huge(`,"id":`+string(t.msg.ID), "") }},
	HugeResultIDLast: {either, true, func(t *turn) { t.huge("", `,"id":`+string(t.msg.ID)) }},
	Flood:            {either, false, flood},
	Stderr:           {stdio, false, func(t *turn) { t.complain() }},

	Progress:    {either, false, progress},
	Log:         {either, false, func(t *turn) { t.notify("notifications/message", logParams(t.fault.Text)) }},
	ListChanged: {either, false, func(t *turn) { t.notify("notifications/"+orElse(t.fault.Text, "tools")+"/list_changed", nil) }},
	Notify:      {either, false, func(t *turn) { t.notify(orElse(t.fault.Text, "notifications/unknown"), t.fault.JSON) }},

	AskPing:        {either, false, func(t *turn) { t.ask("ping", "{}") }},
	AskSampling:    {either, false, func(t *turn) { t.ask("sampling/createMessage", askSampling) }},
	AskRoots:       {either, false, func(t *turn) { t.ask("roots/list", "{}") }},
	AskElicitation: {either, false, func(t *turn) { t.ask("elicitation/create", askElicitation) }},

	WrongID:      {either, false, func(t *turn) { t.id = []byte("987654321") }},
	DuplicateID:  {either, false, func(t *turn) { t.id = t.peer.lastAnswered() }},
	FractionalID: {either, false, func(t *turn) { t.id = []byte(string(t.msg.ID) + ".7") }},
	StringID:     {either, false, func(t *turn) { t.id = []byte(`"` + string(t.msg.ID) + `"`) }},
	NullID:       {either, false, func(t *turn) { t.id = []byte("null") }},
	OutOfOrder:   {either, true, outOfOrder},
	Twice:        {either, false, func(t *turn) { t.send(t.frame(), false) }},

	NullResult:            {either, false, func(t *turn) { t.setResult([]byte("null")) }},
	UnknownResultType:     {either, false, func(t *turn) { t.setResult([]byte(`{"resultType":"perhaps","content":[]}`)) }},
	InputRequired:         {either, false, inputRequired},
	BothResultAndError:    {either, false, func(t *turn) { t.setContent(`"result":{"content":[]},"error":` + t.errorObject()) }},
	NeitherResultNorError: {either, false, func(t *turn) { t.setContent("") }},
	ErrorReply:            {either, false, func(t *turn) { t.setContent(`"error":` + t.errorObject()) }},
	InvalidJSON:           {either, false, func(t *turn) { t.exact = t.frame()[:len(t.frame())-1] }},
	Reply:                 {either, false, func(t *turn) { t.setResult(t.fault.JSON) }},
	Raw:                   {either, false, raw},

	PageForever:    {either, false, func(t *turn) { t.page().follow(t.peer.nextCursor()) }},
	RepeatCursor:   {either, false, func(t *turn) { t.page().follow("again") }},
	EntryTwice:     {either, false, func(t *turn) { t.page().entries = twice(t.page().entries) }},
	NullList:       {either, false, func(t *turn) { t.page().entries = nil }},
	NullEntry:      {either, false, func(t *turn) { t.page().entries = []json.RawMessage{json.RawMessage("null")} }},
	NoList:         {either, false, func(t *turn) { t.setResult([]byte("{}")) }},
	MalformedEntry: {either, false, malformedEntry},
	CyclicSchema:   {either, false, func(t *turn) { t.addTool("cyclic", cyclicSchema) }},
	RemoteSchema: {either, false, func(t *turn) {
		t.addTool("remote", `{"type":"object","$ref":`+string(encode(orElse(t.fault.Text, remoteSchema)))+`}`)
	}},

	CrashBefore: {either, true, func(t *turn) { t.crash() }},
	CrashAmid:   {either, true, func(t *turn) { t.write(string(t.half())); t.crash() }},
	CrashAfter:  {either, true, func(t *turn) { t.finish(); t.crash() }},
	IgnoreEOF:   {stdio, false, func(t *turn) { t.peer.set(&t.peer.ignoreEOF) }},
	IgnoreTerm:  {stdio, false, func(*turn) { ignoreTerm() }},
	Grandchild:  {stdio, false, func(t *turn) { t.hold(holdInGroup) }},
	Escape:      {stdio, false, func(t *turn) { t.hold(holdEscaped) }},

	RedirectSame:    {overHTTP, true, func(t *turn) { t.redirect("/moved") }},
	RedirectOther:   {overHTTP, true, func(t *turn) { t.redirect(t.web().server.Elsewhere.URL) }},
	Redirect:        {overHTTP, true, func(t *turn) { t.redirect(t.fault.Text) }},
	HTML:            {overHTTP, true, func(t *turn) { t.body("text/html", orElse(t.fault.Code, 200), page) }},
	Truncated:       {overHTTP, true, truncated},
	EmptyBody:       {overHTTP, true, func(t *turn) { t.body("application/json", 200, "") }},
	Status:          {overHTTP, true, status},
	HugeBody:        {overHTTP, true, func(t *turn) { t.huge(`,"id":`+string(t.msg.ID), "") }},
	HugeEvent:       {overHTTP, true, hugeEvent},
	HugeError:       {overHTTP, true, hugeError},
	HugeHeader:      {overHTTP, true, hugeHeader},
	CompressionBomb: {overHTTP, true, compressionBomb},
	SlowHeaders:     {overHTTP, true, slowHeaders},
	StreamLeftOpen:  {overHTTP, true, func(t *turn) { t.send(t.frame(), false); <-t.ctx.Done() }},
	SessionGone:     {overHTTP, true, sessionGone},
	RetryYears:      {overHTTP, true, retryYears},
}
