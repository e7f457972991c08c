//! Statements in MariaDB's dialect, derived from the text that the other databases use.

/// A statement whose placeholders have no numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnumbered {
    /// The text, with `?` for each argument.
    pub sql: String,
    /// The argument of each `?`, counted from 0.
    pub args: Vec<usize>,
}

/// Translates a statement of the load for MariaDB.
///
/// - `$2` is `?`, in the order in which they stand;
/// - `lower(x)` is `x`: MariaDB has no indexes of expressions, and tables that setup makes have a
///   collation to which small and capital letters are alike;
/// - `/` is `DIV`, as whole numbers stay whole elsewhere;
/// - a call has no places for the two numbers of a procedure, which are its row there.
pub fn in_mariadb(sql: &str) -> Unnumbered {
    let mut plain = without_lower(sql).replace(" / ", " DIV ");
    if plain.starts_with("CALL ") {
        plain = plain.replace(", NULL, NULL)", ")");
    }
    let mut pieces = plain.split('$');
    let mut out = Unnumbered { sql: pieces.next().unwrap_or_default().to_owned(), args: Vec::new() };
    for piece in pieces {
        let digits = piece.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(piece.len());
        let (number, behind) = piece.split_at(digits);
        match number.parse::<usize>() {
            Ok(number @ 1..) => {
                out.args.push(number - 1);
                out.sql += "?";
            }
            _ => {
                out.sql += "$";
                out.sql += number;
            }
        }
        out.sql += behind;
    }
    out
}

/// Removes `lower(` and its closing bracket.
fn without_lower(sql: &str) -> String {
    let mut pieces = sql.split("lower(");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (inside, behind) = piece.split_once(')').unwrap_or((piece, ""));
        out += inside;
        out += behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Indexes, Table, indexes};
    use crate::statement::{BY_NAME, LAST_HOUR};

    #[test]
    fn arguments_stand_where_their_numbers_did() {
        let hour = in_mariadb(LAST_HOUR);
        assert_eq!(hour.args, [0, 0, 1, 0]);
        assert_eq!(
            hour.sql,
            "SELECT (order_date - ?) DIV 300, SUM(order_total), COUNT(*) FROM orders WHERE order_date >= ? AND \
             warehouse_id = ? GROUP BY (order_date - ?) DIV 300"
        );
        assert_eq!(in_mariadb("SELECT $12 + $x$").sql, "SELECT ? + $x$");
        assert_eq!(in_mariadb("COMMIT"), Unnumbered { sql: "COMMIT".into(), args: vec![] });
    }

    #[test]
    fn a_call_has_its_arguments_alone() {
        let call = in_mariadb(crate::statement::NEXT_ORDER);
        assert_eq!(call.sql, "CALL orderentry_next_order(?, ?)");
    }

    #[test]
    fn names_are_found_by_an_index_of_columns() {
        let name = in_mariadb(BY_NAME).sql;
        assert!(name.contains("WHERE cust_last_name = ? AND cust_first_name = ? ORDER"), "{name}");
        let index = indexes(Table::Customers, Indexes::All).pop().unwrap();
        let index = in_mariadb(&index).sql;
        assert_eq!(index, "CREATE INDEX customers_4 ON customers (cust_last_name, cust_first_name)");
    }
}
