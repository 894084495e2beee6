package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/modelcheck/replay"
	"github.com/relplan/relplan/modelcheck/replay/lab"
	"github.com/relplan/relplan/reports"
	"github.com/relplan/relplan/specs/ast"
)

func newLab(f *factory) *cobra.Command {
	return group("lab", "Run the reference labs on real engines: what a design claims, seen", newLabInbox(f), newLabRecovery(f))
}

func newLabInbox(f *factory) *cobra.Command {
	name := "all"
	c := &cobra.Command{
		Use:   "inbox",
		Short: "Duplicates, lost answers and conflicts at an inbox, on SQLite files",
		Long: `Show on SQLite files, which are closed and opened again before they are read, what
becomes of the operation op-001, which adds 100 to a balance of 0:

  before-commit  a rollback before the commit, then two deliveries
  after-commit   the answer to the commit is lost, then a redelivery
  conflict       the same identity with another amount
  setnx          deliberately wrong: marked first, so a crash loses the effect
  external       a provider with its own file, asked by a key known beforehand,
                 and by a receipt that never came
  credit         account 1 at 10000 cents, event e-001: once, again, and changed

Exit 1 if a value is not as it must be.`,
		Example: `  relplan lab inbox
  relplan lab inbox --case external -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLabInbox(f, cmd, name) },
	}
	c.Flags().StringVar(&name, "case", name, "all, or one of "+strings.Join(lab.InboxCases(), ", "))
	_ = c.RegisterFlagCompletionFunc("case", cobra.FixedCompletions(append([]string{"all"}, lab.InboxCases()...), cobra.ShellCompDirectiveNoFileComp))
	return lacks(c, "sarif")
}

func runLabInbox(f *factory, cmd *cobra.Command, name string) error {
	if err := oneOf("case", name, append([]string{"all"}, lab.InboxCases()...)...); err != nil {
		return err
	}
	ctx, cancel := f.limited(cmd)
	defer cancel()
	servers := &privateServers{f: f, running: map[engines.Kind]*engines.Server{}}
	cases, boundary, err := lab.Inbox(ctx, name, servers.need)
	if err = errors.Join(err, servers.stop()); err != nil {
		return err
	}
	r := &reports.Report{Command: "lab inbox", Data: lab.NewInboxDocument(cases, boundary)}
	lab.FillInbox(r, cases, boundary)
	f.progress("")
	if err := f.Emit(r); err != nil {
		return err
	}
	return exit(lab.InboxExit(cases, boundary))
}

type recoveryOptions struct {
	sql   []string
	redis string
}

func newLabRecovery(f *factory) *cobra.Command {
	o := &recoveryOptions{}
	c := &cobra.Command{
		Use:   "recovery",
		Short: "Retries, crashes and takeovers along an order chain, on real servers",
		Long: `Make nine observations on one synthetic order chain: duplicateIdempotency,
commitResponseLost, midFailureRollback, outboxFencing, consumerInbox,
atLeastOnceRecovery, retryBudget, cacheWatermark, cleanup.

The SQL ones are made on a private PostgreSQL and a private MySQL or MariaDB, and
the cache on a private Redis, started for the run; --sql and --redis name servers
of yours. There the lab makes a database of its own, and drops it also after
Ctrl-C; what a run that was killed has left, the next one removes. An engine that
is missing makes its observations NOT_RUN.

Exit 1 if a value is not as it must be, 4 if an observation was not run.`,
		Example: `  relplan lab recovery
  relplan lab recovery --sql mysql://root:secret@127.0.0.1:3306/ --redis redis://127.0.0.1:6379/0
  relplan lab recovery --sql sqlite -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLabRecovery(f, o, cmd) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&o.sql, "sql", nil, "database server: an address, or postgres, mysql or sqlite (may be repeated; default postgres and mysql)")
	fl.StringVar(&o.redis, "redis", "redis", "Redis server: an address, or redis for a private one")
	return lacks(c, "sarif")
}

// engines reads --sql and --redis.
func (o *recoveryOptions) engines() (lab.Where, error) {
	w := lab.Where{SQL: []replay.Choice{{Kind: engines.Postgres}, {Kind: engines.MySQL}}}
	if len(o.sql) > 0 {
		w.SQL = nil
	}
	read := func(flag, text string, kind ast.ResourceKind, what string) (replay.Choice, error) {
		c, err := replay.ParseChoice(text)
		if err != nil {
			return c, usagef("--%s %s: %v", flag, text, err)
		}
		if !slices.Contains(c.Plays(), kind) {
			return c, usagef("--%s %s: expected %s", flag, text, what)
		}
		return c, nil
	}
	for _, text := range o.sql {
		c, err := read("sql", text, ast.SQLKind, "a database: postgres://, mysql:// or sqlite")
		if err != nil {
			return w, err
		}
		w.SQL = append(w.SQL, c)
	}
	var err error
	w.Redis, err = read("redis", o.redis, ast.KVKind, "a Redis server: redis://")
	return w, err
}

func runLabRecovery(f *factory, o *recoveryOptions, cmd *cobra.Command) error {
	where, err := o.engines()
	if err != nil {
		return err
	}
	ctx, cancel := f.limited(cmd)
	defer cancel()
	servers := &privateServers{f: f, running: map[engines.Kind]*engines.Server{}}
	where.Servers = servers.need
	where.Progress = func(text string) { f.progress("%s", text) }
	list, boundary, err := lab.Recovery(ctx, where)
	if err = errors.Join(err, servers.stop()); err != nil {
		return err
	}
	r := &reports.Report{Command: "lab recovery", Data: lab.NewRecoveryDocument(list, boundary)}
	lab.FillRecovery(r, list, boundary)
	f.progress("")
	if err := f.Emit(r); err != nil {
		return err
	}
	return exit(lab.RecoveryExit(list))
}
