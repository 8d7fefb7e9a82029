package clickhouse_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/metering"
)

func TestMain(m *testing.M) {
	stop := chtest.Setup()
	code := m.Run()
	stop()
	os.Exit(code)
}

func open(t *testing.T) (*clickhouse.Client, string) {
	t.Helper()
	dsn := chtest.NewDatabase(t)
	if _, err := clickhouse.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	c, err := clickhouse.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, dsn
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2031, 3, 4, 12, 0, 0, 0, time.UTC)

func line(seq int64) metering.Line {
	id := frames.FrameID{ProviderID: "p", FrameID: fmt.Sprint("f", seq), ContentDigest: frames.SomeDigest("sha256:1")}
	bare := frames.FrameID{ProviderID: "other", FrameID: "bare"}
	return metering.Line{
		Seq: seq, Tenant: "acme", RequestID: fmt.Sprint("r", seq), TurnID: "t", CustomerID: "c", ProviderID: "p", AsOf: noon.Add(time.Duration(seq) * time.Microsecond),
		FramesServed: 2, Tokens: 10, Frames: []metering.LineFrame{{ID: id, Tokens: 7}, {ID: bare, Tokens: 3}},
	}
}

func days(t *testing.T, c *clickhouse.Client) []metering.DaySum {
	t.Helper()
	list, err := c.Days(t.Context(), 1<<62, nil)
	check(t, err)
	return list
}

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	_, dsn := open(t)
	applied, err := clickhouse.Migrate(t.Context(), dsn)
	if err != nil || len(applied) != 0 {
		t.Fatalf("%v, %v", applied, err)
	}
}

// A block that is sent again, by the same token or another, in one piece or in two, changes nothing.
func TestLinesCountOnceHoweverOftenTheyAreSent(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	lines := []metering.Line{line(0), line(1), line(2)}
	check(t, c.Insert(t.Context(), "1:1", lines))
	before := days(t, c)
	check(t, c.Insert(t.Context(), "1:1", lines))
	check(t, c.Insert(t.Context(), "1:2", lines))
	check(t, c.Insert(t.Context(), "2:2", lines[1:]))
	after := days(t, c)
	if len(after) != 1 || !after[0].Equal(before[0]) || after[0].Lines != 3 || after[0].Tokens.String() != "30" || !after[0].Day.Equal(noon.Truncate(24*time.Hour)) {
		t.Fatalf("%+v, then %+v", before, after)
	}
}

// What is asked about one month reads that month, also by FINAL; and FINAL still sees each line once, whatever its parts.
func TestAMonthReadsItsPartition(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	for i := range 6 {
		l := line(int64(i % 3))
		l.AsOf = noon.AddDate(0, i%3, 0)
		check(t, c.Insert(t.Context(), fmt.Sprint(i), []metering.Line{l}))
	}
	if d := days(t, c); len(d) != 3 || d[0].Lines != 1 || d[1].Lines != 1 || d[2].Lines != 1 {
		t.Fatalf("%+v", d)
	}
	var indexes, unused uint64
	check(t, c.Row(t.Context(), `SELECT countIf(explain LIKE '%Min-Max%' OR explain LIKE '%Partition%'), countIf(explain LIKE '%Condition: true%') FROM (EXPLAIN indexes = 1
		SELECT sum(tokens) FROM usage WHERE tenant = 'acme' AND as_of >= '2031-04-01 00:00:00' AND as_of < '2031-05-01 00:00:00')`, &indexes, &unused))
	if indexes != 2 || unused != 0 {
		t.Errorf("of %d indexes of partitions %d are unused", indexes, unused)
	}
}

// Erasures may have more entries than a server reads in a statement of its default size.
func TestManyEntriesAreErasedAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	check(t, c.Insert(t.Context(), "1", []metering.Line{line(1), line(2), line(59_998), line(60_001)}))
	seqs := make([]int64, 60_000)
	for i := range seqs {
		seqs[i] = int64(i + 2)
	}
	if d, err := c.Days(t.Context(), 1<<40, seqs); err != nil || len(d) != 1 || d[0].Lines != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	check(t, c.Delete(t.Context(), seqs))
	if d := days(t, c); len(d) != 1 || d[0].Lines != 1 {
		t.Fatalf("%+v", d)
	}
}

// A question that the server refuses comes back with its code, without whom it was about.
func TestARefusedQuestionIsNotRepeated(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	_, err := c.Usage(t.Context(), metering.Question{Tenant: "acme", CustomerID: "somebody", From: noon, To: noon.AddDate(0, 1, 0), Below: 1, By: metering.ByDay, Zone: "no/zone", Limit: 1})
	if !errors.Is(err, clickhouse.ErrUnavailable) || strings.Contains(err.Error(), "somebody") || !strings.Contains(err.Error(), "36") {
		t.Fatal(err)
	}
}

func TestAnyChangeShowsInTheHash(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for name, change := range map[string]func(*metering.Line){
		"none": func(*metering.Line) {}, "seq": func(l *metering.Line) { l.Seq++ }, "customer": func(l *metering.Line) { l.CustomerID = "d" },
		"turn": func(l *metering.Line) { l.TurnID = "u" }, "time": func(l *metering.Line) { l.AsOf = l.AsOf.Add(time.Microsecond) },
		"served": func(l *metering.Line) { l.FramesServed++ }, "rejected": func(l *metering.Line) { l.FramesRejected++ },
		"frame": func(l *metering.Line) { l.Frames[1].ID.FrameID = "x" }, "digest": func(l *metering.Line) { l.Frames[0].ID.ContentDigest = frames.Digest{} },
		"whose": func(l *metering.Line) { l.Frames[1].ID.ProviderID = "p" }, "costs": func(l *metering.Line) { l.Frames[0].Tokens, l.Frames[1].Tokens = 6, 4 },
	} {
		c, _ := open(t)
		l := line(0)
		change(&l)
		check(t, c.Insert(t.Context(), "1", []metering.Line{l}))
		hash := days(t, c)[0].Hash
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
}

func TestDeleteDestroysAndErasedLinesTakeThePlace(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	check(t, c.Insert(t.Context(), "1", []metering.Line{line(0), line(1)}))
	erased := line(1)
	erased.CustomerID, erased.TurnID, erased.Frames, erased.ErasedBy = "", "", nil, 5
	check(t, c.Delete(t.Context(), []int64{1}))
	check(t, c.Insert(t.Context(), "2", []metering.Line{erased}))
	if d := days(t, c); len(d) != 1 || d[0].Lines != 2 || d[0].Tokens.String() != "20" {
		t.Fatalf("%+v", d)
	}
	check(t, c.DeleteDay(t.Context(), days(t, c)[0], 1))
	if d := days(t, c); len(d) != 1 || d[0].Lines != 1 {
		t.Fatalf("%+v", d)
	}
	check(t, c.Empty(t.Context()))
	if d := days(t, c); len(d) != 0 {
		t.Fatalf("%+v", d)
	}
}

func TestARejectedRowIsTold(t *testing.T) {
	t.Parallel()
	c, dsn := open(t)
	chtest.Exec(t, dsn, "ALTER TABLE usage_events ADD CONSTRAINT no CHECK request_id != 'r1'")
	// The server's text would quote the row.
	if err := c.Insert(t.Context(), "1", []metering.Line{line(0), line(1)}); !errors.Is(err, clickhouse.ErrRejected) || err.Error() != "ClickHouse rejects the rows: code 469, VIOLATED_CONSTRAINT" {
		t.Fatal(err)
	}
	check(t, c.Insert(t.Context(), "2", []metering.Line{line(0)}))
}

func TestAServerThatIsAwayIsTold(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"http://127.0.0.1:1/default", "clickhouse://127.0.0.1:1/default"} {
		c, err := clickhouse.Open(dsn)
		check(t, err)
		if err := c.Ping(t.Context()); !errors.Is(err, clickhouse.ErrUnavailable) {
			t.Error(err)
		}
	}
	for _, dsn := range []string{"", "postgres://h/d", "http://", "clickhouse://u:secret@h/d?dial_timeout=x"} {
		if _, err := clickhouse.Open(dsn); err == nil {
			t.Errorf("%q was accepted", dsn)
		}
	}
}
