package engines

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// sqliteCodes names the result codes that a conflict of transactions gives.
//
// Source: SQLite, "Result and Error Codes".
var sqliteCodes = map[int]string{
	5: "BUSY", 6: "LOCKED", 261: "BUSY_RECOVERY", 262: "LOCKED_SHAREDCACHE", 517: "BUSY_SNAPSHOT",
	1555: "CONSTRAINT_PRIMARYKEY", 2067: "CONSTRAINT_UNIQUE",
}

// Code is the engine's own code of an error: a SQLSTATE such as "40001", an
// error number of MySQL such as "1213", a result code of SQLite such as
// "BUSY_SNAPSHOT". It is "" if the error does not come from an engine.
func Code(err error) string {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &pg):
		return pg.Code
	case errors.As(err, &my):
		return strconv.Itoa(int(my.Number))
	case errors.As(err, &lite):
		if name := sqliteCodes[lite.Code()]; name != "" {
			return name
		}
		return fmt.Sprintf("SQLITE_%d", lite.Code())
	}
	return ""
}
