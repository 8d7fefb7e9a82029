package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// evidenceParameters are those of a session that reads one file's entries as fast as its reader takes them.
var evidenceParameters = map[string]string{
	"application_name": "ledgerd evidence", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "120s", "jit": "off",
}

// What one page of a file's entries may take; the last entry may exceed the bytes.
const (
	evidencePage      = 256
	evidencePageBytes = 2 << 20
)

// Evidence writes what a tenant's asker selects, as far as it may see it, into an evidence file: the entries, those that they
// name, and proofs of all against the checkpoints of one moment. It reads in one snapshot over a connection of its own, so
// that what is appended or erased meanwhile is not seen, and holds a page of entries at a time.
//
// Before anything is written: kinds.ErrTooMuch when the selection is larger than one file, kinds.ErrNotFound when a picked
// entry is not visible, ledger.ErrSize when the log is shorter than Since, kinds.ErrReadOnly when what is stored does not
// prove. Any error may also come later, and leaves no evidence file.
func (s *Store) Evidence(ctx context.Context, tenant string, see kinds.Visibility, sel evidence.Selection, w *evidence.Writer) error {
	cfg := s.pool.Config().ConnConfig
	for k, v := range evidenceParameters {
		cfg.RuntimeParams[k] = v
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		conn.Close(ending)
	}()
	if _, err := conn.Exec(ctx, readOnly); err != nil {
		return unavailable(err)
	}
	r := &evidenceRead{store: s, conn: conn, tenant: tenant, see: see, chosen: map[int64]choice{}}
	if r.heads, err = headRows(ctx, conn); err != nil {
		return err
	}
	if err := r.selectEntries(ctx, sel); err != nil {
		return err
	}
	opening := evidence.Opening{Heads: r.heads, Matched: r.matched}
	if opening.Since, err = r.since(ctx, sel.Since); err != nil {
		return err
	}
	if err := w.Open(opening); err != nil {
		return err
	}
	if err := r.write(ctx, w); err != nil {
		return err
	}
	return w.Close()
}

// evidenceRead is one run.
type evidenceRead struct {
	store   *Store
	conn    *pgx.Conn
	tenant  string
	see     kinds.Visibility
	heads   []ledger.Head // the newest last
	chosen  map[int64]choice
	matched int64
	bytes   int64 // of all contents
}

// choice is an entry that goes into the file.
type choice struct {
	matched  bool
	relation string
	bytes    int64
}

// newest is the head that the file is pinned to.
func (r *evidenceRead) newest() ledger.Head { return r.heads[len(r.heads)-1] }

// selectEntries finds the entries, and then those that they name, which may name others.
func (r *evidenceRead) selectEntries(ctx context.Context, sel evidence.Selection) error {
	relations, err := r.asked(ctx, sel)
	if err != nil {
		return err
	}
	r.matched = int64(len(relations))
	if len(relations) > evidence.MaxMatched {
		return kinds.ErrTooMuch
	}
	for matched := true; len(relations) > 0; matched = false {
		found, err := r.choose(ctx, relations, matched)
		if err != nil {
			return err
		}
		if matched && sel.Picks != nil && len(found.all) < len(relations) {
			return kinds.ErrNotFound
		}
		if matched {
			r.matched = int64(len(found.all))
		}
		if relations, err = r.named(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// asked is what the selection asks for, with what each entry is to it; of a listing or a sum one entry too many at most.
func (r *evidenceRead) asked(ctx context.Context, sel evidence.Selection) (map[int64]string, error) {
	relations := map[int64]string{}
	for _, p := range sel.Picks {
		relations[p.Seq] = p.Relation
	}
	var seqs []int64
	var err error
	switch {
	case sel.Entries != nil:
		q := *sel.Entries
		q.After, q.Size, q.Limit = -1, r.newest().Next(), evidence.MaxMatched+1
		seqs, err = entrySeqs(ctx, r.conn, r.tenant, r.see, q)
	case sel.Usage != nil:
		q := *sel.Usage
		q.Tenant, q.Below = r.tenant, r.newest().Next()
		seqs, err = usageSeqs(ctx, r.conn, q, evidence.MaxMatched)
	}
	for _, seq := range seqs {
		relations[seq] = evidence.AskedFor
	}
	return relations, err
}

// chosenNow is what one step added.
type chosenNow struct {
	all      []int64
	refer    []int64 // whose kinds name others
	erasures map[int64]string
}

// choose adds those of some entries that the asker may see.
func (r *evidenceRead) choose(ctx context.Context, relations map[int64]string, matched bool) (found chosenNow, err error) {
	seqs := make([]int64, 0, len(relations))
	for seq := range relations {
		seqs = append(seqs, seq)
	}
	rows, err := r.conn.Query(ctx, `
		SELECT e.seq, e.kind, coalesce(octet_length(c.content), 0), coalesce(x.erasure_seq, 0)
		FROM ledger.entries e JOIN ledger.contents c USING (seq) LEFT JOIN ledger.erased x USING (seq)
		WHERE e.seq = ANY($1) AND e.seq < $2 AND (e.tenant = $3 OR (e.tenant = '' AND e.kind = ANY($4)))
		  AND ($5 OR e.kind = ANY($6) OR e.token_id = $7) ORDER BY e.seq`,
		seqs, r.newest().Next(), r.tenant, r.see.LogKinds(), r.see.All, r.see.Kinds, r.see.TokenID)
	if err != nil {
		return found, unavailable(err)
	}
	found.erasures = map[int64]string{}
	var seq, bytes, erasure int64
	var kind string
	_, err = pgx.ForEachRow(rows, []any{&seq, &kind, &bytes, &erasure}, func() error {
		r.chosen[seq] = choice{matched: matched, relation: relations[seq], bytes: bytes}
		r.bytes += bytes
		found.all = append(found.all, seq)
		if k := kinds.Lookup(kind); erasure != 0 {
			found.erasures[erasure] = evidence.ErasureRelation
		} else if k != nil && k.Refers() {
			found.refer = append(found.refer, seq)
		}
		return nil
	})
	if err == nil && (r.bytes > evidence.MaxContent || len(r.chosen) > evidence.MaxEntries) {
		return found, kinds.ErrTooMuch
	}
	return found, unavailable(err)
}

// named lists what entries name that is not chosen yet: their erasures, and what the registry reads in their contents.
func (r *evidenceRead) named(ctx context.Context, found chosenNow) (map[int64]string, error) {
	next := found.erasures
	err := r.pages(ctx, found.refer, func(e ledger.Entry) error {
		c, err := ledger.ParseContent(e.Content)
		if err != nil {
			return kinds.Unreadable(e.Seq, err)
		}
		references, err := kinds.Lookup(e.Meta.Kind).References(c)
		if err != nil {
			return kinds.Unreadable(e.Seq, err)
		}
		for _, ref := range references {
			next[ref.Seq] = ref.Relation
		}
		if len(next) > 2*evidence.MaxEntries { // the asker may not see all of them
			return kinds.ErrTooMuch
		}
		return nil
	})
	for seq := range next {
		if _, known := r.chosen[seq]; known {
			delete(next, seq)
		}
	}
	return next, err
}

// pages reads chosen entries, given in order, some at a time.
func (r *evidenceRead) pages(ctx context.Context, seqs []int64, each func(ledger.Entry) error) error {
	for len(seqs) > 0 {
		n, bytes := 0, int64(0)
		for n < len(seqs) && n < evidencePage && bytes < evidencePageBytes {
			bytes += r.chosen[seqs[n]].bytes
			n++
		}
		entries, err := evidenceEntries(ctx, r.conn, seqs[:n])
		if err != nil {
			return err
		}
		if len(entries) < n {
			return fmt.Errorf("%w: entries are missing", kinds.ErrReadOnly)
		}
		for _, e := range entries {
			if err := each(e); err != nil {
				return err
			}
		}
		seqs = seqs[n:]
	}
	return nil
}

func evidenceEntries(ctx context.Context, q querier, seqs []int64) ([]ledger.Entry, error) {
	rows, err := q.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.seq = ANY($1) ORDER BY e.seq`, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, unavailable(err)
	}
	return entries, erasedBy(ctx, q, entries)
}

// since proves that the newest log grew from a size.
func (r *evidenceRead) since(ctx context.Context, size *int64) (*ledger.ConsistencyProof, error) {
	if size == nil {
		return nil, nil
	}
	tree, err := r.store.tree(r.newest())
	if err != nil {
		return nil, err
	}
	hashes, err := tree.Consistency(ctx, *size, r.newest().Size)
	return &ledger.ConsistencyProof{From: *size, To: r.newest().Size, Hashes: hashes}, damaged(err)
}

// write reads the chosen entries in order, proves each in its own log, and hands them on.
func (r *evidenceRead) write(ctx context.Context, w *evidence.Writer) error {
	seqs := make([]int64, 0, len(r.chosen))
	for seq := range r.chosen {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	provers := map[int]*ledger.Prover{}
	logs := incarnations(slices.Clone(r.heads))
	slices.Reverse(logs)
	return r.pages(ctx, seqs, func(e ledger.Entry) error {
		head := logs.of(e.Seq)
		prover := provers[head.Incarnation]
		if prover == nil {
			c, err := checkpointOf(head)
			if err != nil {
				return err
			}
			prover = ledger.NewProver(c, tileReader{r.store, head})
			provers[head.Incarnation] = prover
		}
		_, proof, err := prover.Inclusion(ctx, e.Seq-head.Base)
		if err != nil {
			return damaged(err)
		}
		c := r.chosen[e.Seq]
		return w.Add(evidence.Item{Entry: e, Matched: c.matched, Relation: c.relation, Proof: proof})
	})
}
