//! The rows that setup loads. Each unit of rows has its own random numbers, so that the rows are
//! the same however many connections load them.

use crate::chance::Chance;
use crate::scale::Sizes;
use crate::schema::Table;
use crate::session::{Row, Value};
use crate::words::{CARDS, CLASSES, COUNTIES, COUNTRIES, DELIVERIES, GOODS, HEADS, LANGUAGES, STATES, TAILS, TOWNS};
use xxhash_rust::xxh64::xxh64;

/// The latest date of any row, in seconds since 1970: the start of 2026.
const UNTIL: i64 = 1_767_225_600;
const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;

/// The rows of a seed.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The seed of all random numbers.
    pub seed: u64,
    /// How large the tables are.
    pub sizes: Sizes,
}

impl Rows {
    /// Adds the rows of a unit, counted from 0.
    pub fn unit(&self, table: Table, unit: u64, out: &mut Vec<Row>) {
        let chance = &mut Chance::new(self.seed ^ ((table as u64 + 1) << 56), unit);
        let id = Value::Number(unit as i64 + 1);
        match table {
            Table::Customers => out.push(self.customer(id, chance)),
            Table::Addresses => {
                out.push(address(id, self.any(Table::Customers, chance), past(chance, 5), chance));
            }
            Table::CardDetails => out.push(card(id, self.any(Table::Customers, chance), past(chance, 5), chance)),
            Table::Warehouses => {
                let name = format!("{} depot {}", town(chance), unit + 1);
                out.push(vec![id, name.into(), chance.between(1, 9999).into()]);
            }
            Table::ProductInformation => out.push(product(&id, chance)),
            Table::ProductDescriptions => {
                let name = product_name(chance);
                let about = sentence(chance, 20);
                out.push(vec![id, "us".into(), name.into(), about.into()]);
            }
            Table::Inventories => inventories(&id, chance, out),
            Table::Orders => out.push(self.order(id, chance)),
            Table::OrderItems => self.items(&id, chance, out),
            Table::Logon => out.push(vec![id, self.any(Table::Customers, chance).into(), past(chance, 2).into()]),
            Table::Metadata => {}
        }
    }

    /// The number of a random row of a table.
    fn any(&self, table: Table, chance: &mut Chance) -> i64 {
        chance.between(1, self.sizes.units(table) as i64)
    }

    fn customer(&self, id: Value, chance: &mut Chance) -> Row {
        let address = self.any(Table::Addresses, chance);
        let card = self.any(Table::CardDetails, chance);
        customer(id, (address, card), past(chance, 5), chance)
    }

    fn order(&self, id: Value, chance: &mut Chance) -> Row {
        let mode = if chance.percent(20) { Value::Null } else { (*chance.pick(&["direct", "online"])).into() };
        let address = self.any(Table::Addresses, chance);
        vec![
            id,
            past(chance, 5).into(),
            mode,
            self.any(Table::Customers, chance).into(),
            chance.between(1, 10).into(),
            chance.between(0, 10_000).into(),
            chance.between(1, 1000).into(),
            chance.bell(0, 1000).into(),
            chance.between(1, Sizes::WAREHOUSES as i64).into(),
            (*chance.pick(&DELIVERIES)).into(),
            chance.between(1, 5).into(),
            (*chance.pick(&["ship_asap", "wait_for_all"])).into(),
            address.into(),
            class(chance).into(),
            self.any(Table::CardDetails, chance).into(),
            address.into(),
        ]
    }

    fn items(&self, order: &Value, chance: &mut Chance, out: &mut Vec<Row>) {
        for line in 1..=chance.between(1, 6) {
            let sent = past(chance, 5);
            let returned = if chance.percent(97) { Value::Null } else { (sent + 10 * DAY).into() };
            out.push(vec![
                order.clone(),
                line.into(),
                self.any(Table::ProductInformation, chance).into(),
                chance.between(2, 5000).into(),
                chance.between(1, 3).into(),
                sent.into(),
                returned,
                (*chance.pick(&["None", "Plain", "Festive"])).into(),
                (*chance.pick(&["New", "Used", "Repaired"])).into(),
                chance.between(1, 100).into(),
                (sent + 3 * DAY).into(),
            ]);
        }
    }
}

/// A customer with a preferred address and card.
pub(crate) fn customer(id: Value, preferred: (i64, i64), since: i64, chance: &mut Chance) -> Row {
    let (first, last) = name(chance);
    let (language, territory) = *chance.pick(&LANGUAGES);
    let email = format!("{}.{}@example.com", first.to_lowercase(), last.to_lowercase());
    let yes = |chance: &mut Chance| Value::from(*chance.pick(&["Y", "N"]));
    vec![
        id,
        first.into(),
        last.into(),
        language.into(),
        territory.into(),
        chance.between(100, 5000).into(),
        email.into(),
        chance.between(1, 1000).into(),
        since.into(),
        class(chance).into(),
        (*chance.pick(&GOODS)).into(),
        (UNTIL - chance.between(18, 90) * YEAR).into(),
        yes(chance),
        yes(chance),
        preferred.0.into(),
        preferred.1.into(),
    ]
}

/// An address of a customer.
pub(crate) fn address(id: Value, customer: i64, created: i64, chance: &mut Chance) -> Row {
    let code = |chance: &mut Chance| match chance.percent(50) {
        true => Value::Null,
        false => chance.between(10_000, 99_999).to_string().into(),
    };
    vec![
        id,
        customer.into(),
        created.into(),
        chance.between(1, 999).to_string().into(),
        format!("{} Street", town(chance)).into(),
        town(chance).into(),
        format!("{}{}", chance.pick(&HEADS[..30]), chance.pick(&COUNTIES)).into(),
        (*chance.pick(&COUNTRIES)).into(),
        code(chance),
        code(chance),
    ]
}

/// A card of a customer.
pub(crate) fn card(id: Value, customer: i64, since: i64, chance: &mut Chance) -> Row {
    vec![
        id,
        customer.into(),
        (*chance.pick(&CARDS)).into(),
        chance.between(1_111_111_111, 9_999_999_999).into(),
        (since + 3 * YEAR).into(),
        "Y".into(),
        chance.between(1111, 9999).into(),
    ]
}

fn product(id: &Value, chance: &mut Chance) -> Row {
    let price = chance.between(1, 5000);
    let (name, about) = (product_name(chance), sentence(chance, 20));
    vec![
        id.clone(),
        name.into(),
        about.into(),
        chance.between(1, 200).into(),
        chance.between(1, 5).into(),
        chance.between(1, 20).into(),
        chance.between(1, 100).into(),
        (*chance.pick(&STATES)).into(),
        price.into(),
        (price * 9 / 10).into(),
        format!("https://shop.example.com/{}", id.number().unwrap_or(0)).into(),
    ]
}

/// 800 to 1000 consecutive warehouses; the first follows the last.
fn inventories(product: &Value, chance: &mut Chance, out: &mut Vec<Row>) {
    let all = Sizes::WAREHOUSES as i64;
    let (first, count) = (chance.between(0, all - 1), chance.between(800, all));
    let row = |step: i64, chance: &mut Chance| {
        let quantity = chance.between(0, 99_999_999);
        vec![product.clone(), ((first + step) % all + 1).into(), quantity.into()]
    };
    out.extend((0..count).map(|step| row(step, chance)));
}

/// A first and a last name, most of them from the middle of the lists.
pub(crate) fn name(chance: &mut Chance) -> (String, String) {
    let one = |chance: &mut Chance| {
        let at = chance.bell(0, (HEADS.len() * TAILS.len()) as i64 - 1) as usize;
        format!("{}{}", HEADS[at / TAILS.len()], TAILS[at % TAILS.len()])
    };
    (one(chance), one(chance))
}

fn town(chance: &mut Chance) -> String {
    format!("{}{}", chance.pick(&HEADS), chance.pick(&TOWNS))
}

fn product_name(chance: &mut Chance) -> String {
    format!("{} {} {}", chance.pick(&HEADS), chance.pick(&GOODS), chance.between(1, 999))
}

fn sentence(chance: &mut Chance, words: usize) -> String {
    (0..words).map(|_| *chance.pick(&GOODS)).collect::<Vec<_>>().join(" ")
}

fn class(chance: &mut Chance) -> &'static str {
    if chance.percent(70) { CLASSES[0] } else { CLASSES[chance.between(1, CLASSES.len() as i64 - 1) as usize] }
}

fn past(chance: &mut Chance, years: i64) -> i64 {
    UNTIL - chance.between(1, years * YEAR)
}

/// What a row adds to its table's digest, which is a sum: the order in which rows are read does not
/// matter.
pub fn digest(row: &[Value]) -> u64 {
    let mut text = String::new();
    for value in row {
        match value {
            Value::Null => text.push('\u{1}'),
            Value::Number(number) => text.push_str(&number.to_string()),
            Value::Text(words) => text.push_str(words),
        }
        text.push('\0');
    }
    xxh64(text.as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(seed: u64, table: Table, units: std::ops::Range<u64>) -> Vec<Row> {
        let sizes = Sizes { scale: "0.01".parse().unwrap(), products: 100 };
        let mut out = Vec::new();
        units.for_each(|unit| Rows { seed, sizes }.unit(table, unit, &mut out));
        out
    }

    #[test]
    fn rows_are_of_their_seed_and_have_their_columns() {
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Metadata) {
            let some = rows(7, table, 0..20);
            assert_eq!(some, rows(7, table, 0..20), "{table:?}");
            assert_ne!(some, rows(8, table, 0..20), "{table:?}");
            assert!(some.iter().all(|row| row.len() == table.columns().count()), "{table:?}");
            assert_eq!(some[some.len() - 1], *rows(7, table, 19..20).last().unwrap(), "a unit needs no other");
        }
    }

    /// 3.5 items per order: over 2000 orders the mean has a standard error of 0.04. 3 % are
    /// returned.
    #[test]
    fn items_and_stock_are_as_many_as_said() {
        let items = rows(1, Table::OrderItems, 0..2000);
        assert!((6600..=7400).contains(&items.len()), "{}", items.len());
        let returned = items.iter().filter(|row| row[6] != Value::Null).count() as f64 / items.len() as f64;
        assert!((0.02..=0.04).contains(&returned), "{returned}");
        let stock = rows(1, Table::Inventories, 0..100);
        assert!((88_000..=92_000).contains(&stock.len()), "{}", stock.len());
        let mut places: Vec<i64> = stock[..800].iter().filter_map(|row| row[1].number()).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 800, "no warehouse twice");
    }
}
