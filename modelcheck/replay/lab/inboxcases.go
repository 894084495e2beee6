package lab

// Queries of the inbox lab.
const (
	balanceQuery = "select balance from accounts where id = 1"
	inboxQuery   = "select count(*) from inbox"
	ledgerQuery  = "select count(*) from ledger where op_id = 'op-001'"
)

// inboxLooks are the values of a case of the first example.
func inboxLooks(balance, inbox, effects int) []look {
	return []look{{"balance", "bank", balanceQuery, balance}, {"inbox_rows", "bank", inboxQuery, inbox}, {"effects", "bank", ledgerQuery, effects}}
}

// Deliveries as schedules.
const (
	succeeds = `
		consumer: receives the request of delivery 1
		consumer: inserts into inbox
		consumer: updates accounts
		consumer: inserts into ledger
		consumer: commits
		consumer: replies ok`
	repeats = `
		consumer: receives the request of delivery 1
		consumer: inserts into inbox
		consumer: reads inbox
		consumer: replies ok`
	conflicts = `
		consumer: receives the request of delivery 2
		consumer: inserts into inbox
		consumer: reads inbox
		consumer: replies refused`
	// unheard: the client does not get the answer before it, and asks again.
	unheard = " ! the answer is lost"
)

var inboxCases = []inboxCase{
	{
		name: "before-commit", spec: "inbox", variant: "inbox", process: "consumer",
		schedule: `
			consumer: receives the request of delivery 1
			consumer: inserts into inbox
			consumer: updates accounts
			consumer: inserts into ledger ! fails
			consumer: replies try_later` + succeeds + unheard + repeats,
		statuses: []string{"ROLLED_BACK", "SUCCEEDED", "DUPLICATE"},
		looks:    inboxLooks(100, 1, 1),
	},
	{
		name: "after-commit", spec: "inbox", variant: "inbox", process: "consumer",
		schedule: `
			consumer: receives the request of delivery 1
			consumer: inserts into inbox
			consumer: updates accounts
			consumer: inserts into ledger
			consumer: commits ! done, answer lost
			consumer: replies try_later` + repeats,
		statuses: []string{"UNKNOWN", "DUPLICATE"},
		looks:    inboxLooks(100, 1, 1),
	},
	{
		name: "conflict", spec: "inbox", variant: "inbox", process: "consumer",
		schedule: succeeds + conflicts,
		statuses: []string{"SUCCEEDED", "CONFLICT"},
		looks:    inboxLooks(100, 1, 1),
	},
	{
		name: "setnx", spec: "inbox", variant: "setnx", process: "consumer", counterexample: true,
		schedule: `
			consumer: receives the request of delivery 1
			consumer: inserts into inbox
			consumer: crashes` + repeats,
		statuses: []string{crashed, "DUPLICATE"},
		looks:    inboxLooks(0, 1, 0),
	},
	{
		name: "external", label: "client_key", spec: "external", variant: "client-key", process: "payer",
		schedule: `
			payer: receives the request of payment 1
			payer: inserts into payments
			payer: calls bank.charge ! done, answer lost
			payer: replies try_later
			payer: receives the request of payment 1
			payer: inserts into payments
			payer: reads payments
			payer: calls bank.find (client_key: payment 1): the provider does not know it
			payer: calls bank.charge
			payer: updates payments
			payer: replies ok`,
		statuses: []string{"UNKNOWN", "SUCCEEDED"},
		looks:    providerLooks(2, 1),
	},
	{
		name: "external", label: "receipt_id", spec: "external", variant: "receipt-id", process: "payer",
		schedule: `
			payer: receives the request of payment 1
			payer: inserts into payments
			payer: calls bank.charge ! done, answer lost
			payer: replies try_later
			payer: receives the request of payment 1
			payer: inserts into payments
			payer: reads payments
			payer: replies try_later`,
		statuses: []string{"UNKNOWN", "UNKNOWN"},
		looks:    providerLooks(1, 1),
	},
	{
		name: "credit", spec: "credit", process: "consumer",
		schedule: `
			consumer: receives the request of delivery 1
			consumer: inserts into inbox
			consumer: updates accounts
			consumer: commits
			consumer: replies ok` + unheard + repeats + conflicts,
		statuses: []string{"SUCCEEDED", "DUPLICATE", "CONFLICT"},
		looks: []look{
			{"balance", "bank", "select hundreds * 100 from accounts where id = 1", 10100},
			{"version", "bank", "select version from accounts where id = 1", 1},
			{"inbox_rows", "bank", "select count(*) from inbox where consumer = 'credit-v1' and event = 'e-001'", 1},
			{"effects", "bank", "select sum(n) from relplan_effects where effect = 'adds'", 1},
		},
	},
}

// providerLooks are the values of a case with the provider, in its own file.
func providerLooks(requests, charges int) []look {
	return []look{
		{"requests", "bank", "select count(*) from requests where method = 'charge'", requests},
		{"charges", "bank", "select coalesce(sum(n), 0) from executions where effect = 'takes_money'", charges},
	}
}
