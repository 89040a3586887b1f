//! A diagram of tables and their references, as SVG that the template writes.

use std::collections::HashMap;

/// A table to draw.
#[derive(Debug, Default)]
pub(crate) struct Entity {
    pub(crate) name: String,
    pub(crate) href: String,
    /// The columns of keys, and whether they belong to the primary key.
    pub(crate) keys: Vec<(String, bool)>,
    /// The names of the tables that it refers to.
    pub(crate) references: Vec<String>,
}

/// A diagram with its size.
#[derive(Debug, Default)]
pub(crate) struct Diagram {
    pub(crate) boxes: Vec<EntityBox>,
    /// The curves of references.
    pub(crate) edges: Vec<Edge>,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

#[derive(Debug)]
pub(crate) struct EntityBox {
    pub(crate) name: String,
    pub(crate) href: String,
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) title_y: usize,
    pub(crate) text_x: usize,
    pub(crate) rule_y: usize,
    pub(crate) rule_end: usize,
    pub(crate) lines: Vec<Line>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) y: usize,
    pub(crate) text: String,
    pub(crate) is_primary: bool,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) path: String,
    pub(crate) text: String,
}

const BOX_WIDTH: usize = 164;
const GAP_X: usize = 44;
const GAP_Y: usize = 24;
const TITLE: usize = 30;
const LINE: usize = 18;
const MARGIN: usize = 12;
/// The maximum number of columns in a box.
const MAX_LINES: usize = 8;
/// The maximum number of boxes in a column of the diagram.
const MAX_ROWS: usize = 8;

impl Diagram {
    /// Places referenced tables to the left of those that refer to them.
    pub(crate) fn of(entities: Vec<Entity>) -> Self {
        let levels = levels(&entities);
        let mut columns: Vec<Vec<usize>> = Vec::new();
        for level in 0..=levels.iter().copied().max().unwrap_or(0) {
            let members: Vec<usize> =
                (0..entities.len()).filter(|index| levels[*index] == level).collect();
            columns.extend(members.chunks(MAX_ROWS).map(<[usize]>::to_vec));
        }
        order(&mut columns, &entities);
        let mut diagram = Self::default();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut boxes = Vec::new();
        for (column, members) in columns.iter().enumerate() {
            let x = MARGIN + column * (BOX_WIDTH + GAP_X);
            let mut y = MARGIN;
            for index in members {
                let entity = &entities[*index];
                let placed = EntityBox::of(entity, x, y);
                y += placed.height + GAP_Y;
                diagram.width = diagram.width.max(x + BOX_WIDTH + MARGIN);
                diagram.height = diagram.height.max(y - GAP_Y + MARGIN);
                places.insert(&entity.name, boxes.len());
                boxes.push(placed);
            }
        }
        for entity in &entities {
            let Some(from) = places.get(entity.name.as_str()) else { continue };
            for target in &entity.references {
                let Some(to) = places.get(target.as_str()) else { continue };
                diagram.edges.push(edge(&boxes[*from], &boxes[*to]));
            }
        }
        diagram.boxes = boxes;
        diagram
    }
}

impl EntityBox {
    fn of(entity: &Entity, x: usize, y: usize) -> Self {
        let shown = entity.keys.iter().take(MAX_LINES);
        let mut lines: Vec<Line> = shown
            .enumerate()
            .map(|(index, (name, is_primary))| Line {
                y: y + TITLE + 16 + index * LINE,
                text: shortened(name),
                is_primary: *is_primary,
            })
            .collect();
        if let Some(more) = entity.keys.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            let y = y + TITLE + 16 + lines.len() * LINE;
            lines.push(Line { y, text: format!("and {more} more"), is_primary: false });
        }
        let height = TITLE + if lines.is_empty() { 0 } else { lines.len() * LINE + 10 };
        Self {
            name: shortened(&entity.name),
            href: entity.href.clone(),
            x,
            y,
            width: BOX_WIDTH,
            height,
            title_y: y + 20,
            text_x: x + 12,
            rule_y: y + TITLE,
            rule_end: x + BOX_WIDTH,
            lines,
        }
    }
}

/// The number of references from each table to one without references, along the longest path.
fn levels(entities: &[Entity]) -> Vec<usize> {
    let index: HashMap<&str, usize> =
        entities.iter().enumerate().map(|(index, entity)| (&*entity.name, index)).collect();
    let mut levels = vec![0; entities.len()];
    // References may form cycles, so the number of rounds has a limit.
    for _ in 0..entities.len().min(12) {
        let mut has_changed = false;
        for (from, entity) in entities.iter().enumerate() {
            let targets = entity.references.iter().filter_map(|name| index.get(name.as_str()));
            let level = targets.filter(|to| **to != from).map(|to| levels[*to] + 1).max();
            if let Some(level) = level.filter(|level| *level > levels[from] && *level < 12) {
                levels[from] = level;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    levels
}

/// Orders each column by the average place of the tables that its tables refer to, which reduces crossings.
fn order(columns: &mut [Vec<usize>], entities: &[Entity]) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for column in columns {
        let average = |index: &usize| {
            let targets = entities[*index].references.iter();
            let targets: Vec<usize> =
                targets.filter_map(|name| places.get(name.as_str()).copied()).collect();
            let sum: usize = targets.iter().sum();
            // Hundredths, so that averages can be compared.
            sum * 100 / targets.len().max(1)
        };
        column.sort_by_cached_key(average);
        for (place, index) in column.iter().enumerate() {
            places.insert(&entities[*index].name, place);
        }
    }
}

fn edge(from: &EntityBox, to: &EntityBox) -> Edge {
    let text = format!("{} refers to {}", from.name, to.name);
    let (start, end) = (from.y + TITLE / 2, to.y + TITLE / 2);
    let path = if to.x + to.width <= from.x {
        let (x1, x2) = (from.x, to.x + to.width);
        let middle = (x1 + x2) / 2;
        format!("M{x1} {start} C{middle} {start} {middle} {end} {x2} {end}")
    } else {
        // In the same column, or backwards in a cycle: around the right side.
        let (x1, x2) = (from.x + from.width, to.x + to.width);
        let out = x1.max(x2) + GAP_X / 2;
        let end = if from.y == to.y && from.x == to.x { end + 12 } else { end };
        format!("M{x1} {start} C{out} {start} {out} {end} {x2} {end}")
    };
    Edge { path, text }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(20) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(name: &str, references: &[&str]) -> Entity {
        let references = references.iter().map(|name| (*name).to_owned()).collect();
        Entity { name: name.to_owned(), references, ..Entity::default() }
    }

    #[track_caller]
    fn check(entities: Vec<Entity>, columns: &[(&str, usize)], edges: usize) {
        let diagram = Diagram::of(entities);
        let places: Vec<(&str, usize)> = diagram
            .boxes
            .iter()
            .map(|one| (&*one.name, (one.x - MARGIN) / (BOX_WIDTH + GAP_X)))
            .collect();
        assert_eq!(places, columns);
        assert_eq!(diagram.edges.len(), edges);
    }

    #[test]
    fn referenced_tables_are_to_the_left() {
        check(
            vec![
                entity("orders", &["customer"]),
                entity("customer", &["nation"]),
                entity("nation", &[]),
            ],
            &[("nation", 0), ("customer", 1), ("orders", 2)],
            2,
        );
        check(vec![entity("a", &["b", "missing"]), entity("b", &["a"])], &[("a", 0), ("b", 1)], 2);
        check(vec![entity("tree", &["tree"])], &[("tree", 0)], 1);
        check(Vec::new(), &[], 0);
    }
}
